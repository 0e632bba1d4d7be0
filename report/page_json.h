/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_JSON_H
#define HR_REPORT_PAGE_JSON_H

/* JSON written as it comes into an HTML element: no `<` stands in it, so that no text can end the element. Keys are
   NULL within lists. */

#include "report/out.h"

struct hr__page_json {
  struct hr__out *out;
  bool more;   /* a value stands before the next one */
  bool failed; /* memory ran out */
};

/* `bracket`: the one that opens, or closes, an object or a list. */
void hr__page_open(struct hr__page_json *json, const char *key, char bracket);
void hr__page_close(struct hr__page_json *json, char bracket);

void hr__page_text(struct hr__page_json *json, const char *key, const char *text); /* made UTF-8; null for NULL */
void hr__page_count(struct hr__page_json *json, const char *key, uint64_t count);
void hr__page_bool(struct hr__page_json *json, const char *key, bool value);
void hr__page_null(struct hr__page_json *json, const char *key);
/* In at most six significant digits; null for what is not finite. */
void hr__page_number(struct hr__page_json *json, const char *key, double value);
/* To the microsecond, in seconds; to the micro-dollar, in dollars. */
void hr__page_seconds(struct hr__page_json *json, const char *key, int64_t us);
void hr__page_usd(struct hr__page_json *json, const char *key, int64_t uusd);
/* JSON that was made elsewhere; null for NULL. */
void hr__page_json_text(struct hr__page_json *json, const char *key, const char *text);
void hr__page_notes(struct hr__page_json *json, const struct hr_notes *notes);

/* A number in at most six significant digits, without a NUL; returns where it stopped. `value` is finite. */
char *hr__put_significant(char *at, double value);

#endif
