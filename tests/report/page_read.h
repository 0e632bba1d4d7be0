/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_PAGE_READ_H
#define HR_TESTS_REPORT_PAGE_READ_H

/* An HTML report read back as a browser would. Unexpected content ends the program. */

#include "headroom/unstable/exports.h"

#include <cjson/cJSON.h>

/* A template with the two placeholders only. */
extern const char page_template[];

struct read_page {
  char *text; /* the whole file */
  cJSON *document;
};

/* Writes the report into the test folder and reads it. */
struct read_page page_of(const struct hr_page_run *run);
struct read_page page_read(const char *path);
void page_forget(struct read_page *page);

/* Returns the value at a path such as "series.by.tenant"; NULL if it does not exist. */
const cJSON *page_at(const struct read_page *page, const char *path);
/* Returns the number at a path; NAN for null. */
double page_number(const struct read_page *page, const char *path);
/* Returns the values of an array, NAN for null; to be freed by the caller. */
double *page_list(const cJSON *list, size_t *n);
/* Returns the bytes of a block, to be freed by the caller; NULL if there is no such block. */
unsigned char *page_block(const struct read_page *page, const char *name, size_t *size);
/* Returns a column of a table ("jobs"), scaled, to be freed by the caller; NULL if there is none. */
double *page_column(const struct read_page *page, const char *table, const char *name, size_t *n);

#endif
