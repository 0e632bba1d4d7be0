/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/json_get.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void hr__get_begin(struct hr__json_get *get, const char *list, const struct hr__json_item *item) {
  if (item->key)
    snprintf(get->item, sizeof get->item, "%.10s[\"%.20s\"]", list, item->key);
  else
    snprintf(get->item, sizeof get->item, "%.20s[%u]", list, item->index);
  get->fault = (struct hr__row_fault){.line = item->line, .item = get->item};
}

const cJSON *hr__get_member(const cJSON *object, const char *path) {
  enum { MOST_NAME = 64 };
  char name[MOST_NAME];
  while (object && *path) {
    size_t length = strcspn(path, ".");
    if (length >= MOST_NAME || !cJSON_IsObject(object)) return NULL;
    memcpy(name, path, length);
    name[length] = '\0';
    object = cJSON_GetObjectItemCaseSensitive(object, name);
    path += path[length] ? length + 1 : length;
  }
  return cJSON_IsNull(object) ? NULL : object;
}

bool hr__get_wrong(struct hr__json_get *get, const char *path, const cJSON *value, const char *fault) {
  get->value[0] = '\0';
  get->fault.column = path;
  get->fault.fault = fault;
  if (cJSON_IsString(value))
    get->fault.value = (struct hr_text){value->valuestring, strlen(value->valuestring)};
  else if (cJSON_IsNumber(value))
    snprintf(get->value, sizeof get->value, "%.17g", value->valuedouble);
  else if (value)
    snprintf(get->value, sizeof get->value, "%s",
             cJSON_IsArray(value)    ? "[...]"
             : cJSON_IsObject(value) ? "{...}"
             : cJSON_IsTrue(value)   ? "true"
                                     : "false");
  if (!cJSON_IsString(value)) get->fault.value = (struct hr_text){get->value, strlen(get->value)};
  return false;
}

bool hr__get_text(struct hr__json_get *get, const cJSON *object, const char *path, bool must_be, struct hr_text *text) {
  const cJSON *value = hr__get_member(object, path);
  if (!value) return !must_be || hr__get_wrong(get, path, NULL, "missing");
  if (!cJSON_IsString(value)) return hr__get_wrong(get, path, value, "not a text");
  if (must_be && !*value->valuestring) return hr__get_wrong(get, path, NULL, "empty");
  *text = (struct hr_text){value->valuestring, strlen(value->valuestring)};
  return true;
}

bool hr__get_whole(struct hr__json_get *get, const cJSON *object, const char *path, uint64_t most, uint64_t *whole) {
  const cJSON *value = hr__get_member(object, path);
  if (!value) return true;
  if (!cJSON_IsNumber(value) || value->valuedouble < 0 || value->valuedouble != floor(value->valuedouble))
    return hr__get_wrong(get, path, value, "not a whole number of at least 0");
  if (value->valuedouble > (double)most) return hr__get_wrong(get, path, value, "too large");
  *whole = (uint64_t)value->valuedouble;
  return true;
}

bool hr__get_seconds(struct hr__json_get *get, const cJSON *object, const char *path, int64_t *us) {
  const cJSON *value = hr__get_member(object, path);
  if (!value) return true;
  if (!cJSON_IsNumber(value) || !(value->valuedouble >= 0))
    return hr__get_wrong(get, path, value, "not a number of seconds of at least 0");
  if (value->valuedouble > (double)(HR_MAX_INPUT_US / HR_SECOND_US))
    return hr__get_wrong(get, path, value, "more than 100000000000 s");
  *us = llround(value->valuedouble * (double)HR_SECOND_US);
  return true;
}

bool hr__get_date(struct hr__json_get *get, const cJSON *object, const char *path, int64_t *us) {
  struct hr_text text = {NULL, 0};
  if (!hr__get_text(get, object, path, false, &text)) return false;
  if (!text.length) return true;
  const char *fault = hr__value_read(&get->values, HR__INSTANT_OR_NONE, (uint64_t)HR_SECOND_US, text, us);
  return !fault || hr__get_wrong(get, path, hr__get_member(object, path), fault);
}

enum hr_status hr__get_note_clock(struct hr__json_get *get) {
  enum hr__clock clock = get->values.clock;
  get->reader->dated = clock == HR__CLOCK_LOCAL_DATES || clock == HR__CLOCK_ZONED_DATES;
  if (clock != HR__CLOCK_LOCAL_DATES) return HR_OK;
  return hr__reader_note(get->reader, HR__LOCAL_DATES_NOTE);
}
