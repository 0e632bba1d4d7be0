/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_FIGURE_H
#define HR_PLAN_FIGURE_H

/* A figure of a run as people name it: "wait_s.p95", "wait_s.p95 of inference", "completed of tenant retail". */

#include "plan/measures.h"

enum hr__figure_of { HR__OF_ALL, HR__OF_CLASS, HR__OF_TENANT };

struct hr__figure {
  enum hr__measure measure;
  enum hr__figure_of of;
  const char *name; /* of the class or tenant, from the trace or from the table of classes; NULL: of all */
};

/* Reads the `length` bytes at `text`. "of X" is a class if X is one, and else a tenant of the trace; "of class X", "of
   tenant X" say which. Errors say what is wrong in it, not where it stands. */
enum hr_status hr__figure_parse(const char *text, size_t length, const struct hr_trace *trace,
                                struct hr__figure *figure, struct hr_error *error);
bool hr__figure_same(const struct hr__figure *a, const struct hr__figure *b);

/* "wait_s.p95 of inference" into `buffer`, which it returns. */
enum { HR__FIGURE_NAME_BYTES = 300 };
const char *hr__figure_name(const struct hr__figure *figure, char *buffer);

/* Their values in a run; NaN for what it has not. Figures of one class or tenant side by side are looked up once. */
void hr__figures_of_run(const struct hr__one_run *run, const struct hr__figure *figures, size_t count, double *values);

#endif
