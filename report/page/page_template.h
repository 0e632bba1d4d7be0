/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PAGE_TEMPLATE_H
#define HR_REPORT_PAGE_PAGE_TEMPLATE_H

/* The HTML template that the build embeds into the program; NULL if the build could not make it. */
extern const char *const hr__page_template;

#endif
