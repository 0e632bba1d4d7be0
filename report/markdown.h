/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_MARKDOWN_H
#define HR_REPORT_MARKDOWN_H

/* Pages of Markdown: text of the input is no markup there. */

#include "report/console.h"

/* A text of the input. */
void hr__markdown_text(struct hr__console *page, const char *text);
/* A table's head: `columns` after a first one, separated by '|', are aligned to the right. */
void hr__markdown_head(struct hr__console *page, const char *first, const char *columns);

#endif
