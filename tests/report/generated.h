/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_GENERATED_H
#define HR_TESTS_REPORT_GENERATED_H

/*
 * Files that contain text generated from the catalogue of metrics. Each function reads a file of the project, and
 * returns its text with the generated parts replaced. The caller frees the text.
 */

#include "report/metrics/catalog.h"

/* Replaces the text between "<!-- metrics: WORDS -->" and "<!-- end -->" by the rows of the named metrics. Marks them
   in `documented`. */
char *generated_tables(const char *name, bool documented[HR__N_METRICS]);
/* Replaces the metrics in the schema of a summary. `sections`: the sections of metrics in the file, as a set of bits.
   `groups`: whether the file also has metrics of groups, such as tenants. */
char *generated_schema(const char *name, unsigned sections, bool groups);
/* Replaces the means and differences, which have the names of columns, in the schema of a comparison. */
char *generated_columns(const char *name);

#endif
