/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_H
#define HR_TRACES_FORMATS_H

/* The readers, one file each; formats.c lists them and says which one a file is for. */

#include "traces/reader.h"

enum hr_status hr__read_csv(struct hr__reader *reader);
enum hr_status hr__read_swf(struct hr__reader *reader);
enum hr_status hr__read_philly(struct hr__reader *reader);
enum hr_status hr__read_openb(struct hr__reader *reader);

/* The name of the format that text beginning like this is in; "csv" when it is no other. */
const char *hr__detect_format(struct hr_text beginning);

#endif
