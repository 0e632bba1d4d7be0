/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PAGE_TEMPLATE_H
#define HR_REPORT_PAGE_PAGE_TEMPLATE_H

/* The HTML template that the build embeds into the program. NULL if the program was built without node and npm. */
extern const char *const hr__page_template;

#endif
