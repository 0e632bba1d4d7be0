/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PAGE_TEMPLATE_H
#define HR_REPORT_PAGE_PAGE_TEMPLATE_H

/* The template that the build makes and puts into the program; NULL where it could not make one. */
extern const char *const hr__page_template;

#endif
