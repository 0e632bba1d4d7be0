/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/format_params.h"

#include "traces/numbers.h"
#include "traces/quote.h"

#include <string.h>

enum { MOST_PARAMS = 8 };

static struct hr_text take_until(struct hr_text *rest, char end) {
  const char *stop = memchr(rest->at, end, rest->length);
  struct hr_text taken = {rest->at, stop ? (size_t)(stop - rest->at) : rest->length};
  size_t used = stop ? taken.length + 1 : taken.length;
  *rest = (struct hr_text){rest->at + used, rest->length - used};
  return taken;
}

static enum hr_status unknown_key(const struct hr__reader *reader, const char *format, struct hr_text key,
                                  const struct hr__format_param *params, size_t n_params) {
  const char *words[MOST_PARAMS + 1];
  char quoted[HR__QUOTE_BYTES];
  for (size_t i = 0; i < n_params; i++) words[i] = params[i].key;
  words[n_params] = NULL;
  const char *nearest = hr_nearest_word(hr__quote(key, quoted), words);
  return hr_fail(reader->error, HR_BAD_INPUT, "trace format '%s' has no parameter '%s'; did you mean '%s'?", format,
                 quoted, nearest ? nearest : params[0].key);
}

static enum hr_status set(const struct hr__reader *reader, const char *format, const struct hr__format_param *param,
                          struct hr_text value) {
  uint64_t number = 0;
  const struct hr__number_rule rule = {1, INT64_MAX, true};
  if (!param->number && value.length) {
    *param->text = value;
    return HR_OK;
  }
  if (param->number && hr__number_parse(value, &rule, &number) == HR__NUMBER_FINE && number >= param->least &&
      number <= param->most) {
    *param->number = number;
    return HR_OK;
  }
  char quoted[HR__QUOTE_BYTES];
  if (!param->number)
    return hr_fail(reader->error, HR_BAD_INPUT, "trace format '%s': '%s' is empty", format, param->key);
  return hr_fail(reader->error, HR_BAD_INPUT, "trace format '%s': '%s' is '%s', not a whole number from %llu to %llu",
                 format, param->key, hr__quote(value, quoted), (unsigned long long)param->least,
                 (unsigned long long)param->most);
}

enum hr_status hr__format_params_read(const struct hr__reader *reader, const char *format,
                                      const struct hr__format_param *params, size_t n_params) {
  struct hr_text rest = {reader->params, reader->params ? strlen(reader->params) : 0};
  bool told[MOST_PARAMS] = {false};
  while (rest.length) {
    struct hr_text value = take_until(&rest, ','), key = take_until(&value, '=');
    size_t i = 0;
    while (i < n_params && (strlen(params[i].key) != key.length || memcmp(params[i].key, key.at, key.length) != 0)) i++;
    if (i == n_params) return unknown_key(reader, format, key, params, n_params);
    if (told[i])
      return hr_fail(reader->error, HR_BAD_INPUT, "trace format '%s': '%s' is told twice", format, params[i].key);
    told[i] = true;
    enum hr_status status = set(reader, format, &params[i], value);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}
