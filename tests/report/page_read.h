/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_REPORT_PAGE_READ_H
#define HR_TESTS_REPORT_PAGE_READ_H

/* A page read back as a browser would. What is not as it should be ends the program. */

#include "headroom/unstable/exports.h"

#include <cjson/cJSON.h>

/* A template with nothing but its places. */
extern const char page_template[];

struct read_page {
  char *text; /* the whole file */
  cJSON *document;
};

/* Writes the page into the tests' folder and reads it. */
struct read_page page_of(const struct hr_page_run *run);
struct read_page page_read(const char *path);
void page_forget(struct read_page *page);

/* The value at a path such as "series.by.tenant"; NULL: it is not there. */
const cJSON *page_at(const struct read_page *page, const char *path);
/* Likewise a number, NAN for null. */
double page_number(const struct read_page *page, const char *path);
/* A list's values, NAN for null, which the caller frees. */
double *page_list(const cJSON *list, size_t *n);
/* A block's bytes, which the caller frees; NULL: there is no such block. */
unsigned char *page_block(const struct read_page *page, const char *name, size_t *size);
/* A column of a table ("jobs"), scaled, which the caller frees; NULL: it has none. */
double *page_column(const struct read_page *page, const char *table, const char *name, size_t *n);

#endif
