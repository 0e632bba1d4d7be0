/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_PAGE_READ_H
#define HR_TESTS_REPORT_PAGE_READ_H

/* Reads an HTML report as a browser would. Unexpected content ends the program. */

#include "headroom/unstable/exports.h"

#include <cjson/cJSON.h>

/* A template that contains the two placeholders only. */
extern const char page_template[];

struct read_page {
  char *text; /* the whole file */
  cJSON *document;
};

/* Writes the report into the test folder and reads it. */
struct read_page page_of(const struct hr_page_run *run);
struct read_page page_read(const char *path);
void page_free(struct read_page *page);

/* Returns the value at a path such as "series.by.tenant"; NULL if it does not exist. */
const cJSON *page_at(const struct read_page *page, const char *path);
/* Returns the number at a path; NAN for null. */
double page_number(const struct read_page *page, const char *path);
/* Returns the values of an array, NAN for null. The caller frees the list. */
double *page_list(const cJSON *list, size_t *n);
/* Returns the bytes of a block, which the caller frees; NULL if there is no such block. */
unsigned char *page_block(const struct read_page *page, const char *name, size_t *size);
/* Returns the scaled values of a column of a table such as "jobs"; NULL if there is no such column. The caller frees
   the values. */
double *page_column(const struct read_page *page, const char *table, const char *name, size_t *n);

#endif
