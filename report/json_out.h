/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_JSON_OUT_H
#define HR_REPORT_JSON_OUT_H

/* JSON written as it comes, for files of many small objects. */

#include "report/out.h"

/* A string with its quotes; what is no UTF-8 is read as Latin-1. */
void hr__out_json_text(struct hr__out *out, const char *text);

#endif
