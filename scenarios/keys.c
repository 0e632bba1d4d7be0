/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of keys. A new key is one line here, one in docs/scenario.schema.json, and its use in scenario.c. */

#include "scenarios/keys.h"

#include "headroom/cluster.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EXACT 0x1p53 /* the last whole number before which JSON readers agree */
#define MAX_SECONDS ((double)(HR_MAX_INPUT_US / HR_SECOND_US))
#define MAX_CPUS 4294967.0 /* as milli-CPUs in 32 bits */
#define MAX_TEXT 10000.0
#define MAX_MEMBERS 1000.0

static const struct hr__key keys[] = {{"", HR__KEY_OBJECT, true, 0, MAX_MEMBERS},
                                      {"$schema", HR__KEY_TEXT, false, 0, MAX_TEXT},
                                      {"name", HR__KEY_TEXT, false, 1, 200},
                                      {"description", HR__KEY_TEXT, false, 0, MAX_TEXT},
                                      {"trace", HR__KEY_OBJECT, false, 0, MAX_MEMBERS},
                                      {"trace.file", HR__KEY_TEXT, false, 1, MAX_TEXT},
                                      {"trace.format", HR__KEY_TEXT, false, 1, MAX_TEXT},
                                      {"trace.columns", HR__KEY_OBJECT, false, 0, MAX_MEMBERS},
                                      {"trace.columns.*", HR__KEY_TEXT, false, 1, MAX_TEXT},
                                      {"trace.lenient", HR__KEY_BOOLEAN, false, 0, 0},
                                      {"cluster", HR__KEY_OBJECT, true, 0, MAX_MEMBERS},
                                      {"cluster.pools", HR__KEY_LIST, false, 1, HR_MAX_POOLS},
                                      {"cluster.pools.*", HR__KEY_OBJECT, false, 0, MAX_MEMBERS},
                                      {"cluster.pools.*.name", HR__KEY_TEXT, true, 1, 200},
                                      {"cluster.pools.*.gpu", HR__KEY_TEXT, true, 1, 200},
                                      {"cluster.pools.*.nodes", HR__KEY_WHOLE, true, 1, HR_MAX_NODES},
                                      {"cluster.pools.*.gpus_per_node", HR__KEY_WHOLE, true, 1, HR_MAX_GPUS},
                                      {"cluster.pools.*.cpu_per_node", HR__KEY_REAL, false, 0, MAX_CPUS},
                                      {"cluster.pools.*.mem_gb_per_node", HR__KEY_REAL, false, 0, 1e9},
                                      {"cluster.nodes_file", HR__KEY_TEXT, false, 1, MAX_TEXT},
                                      {"policy", HR__KEY_OBJECT, true, 0, MAX_MEMBERS},
                                      {"policy.name", HR__KEY_TEXT, true, 1, MAX_TEXT},
                                      {"policy.*", HR__KEY_SCALAR, false, 0, 0},
                                      {"seed", HR__KEY_SEED, false, 0, MAX_EXACT},
                                      {"horizon_s", HR__KEY_REAL, false, 1e-6, MAX_SECONDS},
                                      {NULL, HR__KEY_OBJECT, false, 0, 0}};

const struct hr__key *hr__scenario_keys(void) {
  return keys;
}

/* ---- The tree of keys ------------------------------------------------------------------------------- */

const char *hr__key_name(const struct hr__key *key) {
  const char *dot = strrchr(key->path, '.');
  return dot ? dot + 1 : key->path;
}

bool hr__key_is_child(const struct hr__key *key, const struct hr__key *parent) {
  size_t length = strlen(parent->path);
  if (key == parent || strncmp(key->path, parent->path, length) != 0) return false;
  if (length && key->path[length] != '.') return false;
  return !strchr(key->path + length + (length > 0), '.');
}

const struct hr__key *hr__key_child(const struct hr__key *parent, const char *name) {
  const struct hr__key *any = NULL;
  for (const struct hr__key *key = keys + 1; key->path; key++) {
    if (!hr__key_is_child(key, parent)) continue;
    if (strcmp(hr__key_name(key), name) == 0) return key;
    if (strcmp(hr__key_name(key), "*") == 0) any = key;
  }
  return any;
}

void hr__key_children(const struct hr__key *parent, const char *names[HR__MOST_CHILDREN + 1]) {
  size_t count = 0;
  for (const struct hr__key *key = keys + 1; key->path && count < HR__MOST_CHILDREN; key++)
    if (hr__key_is_child(key, parent) && strcmp(hr__key_name(key), "*") != 0) names[count++] = hr__key_name(key);
  names[count] = NULL;
}

/* ---- Values ----------------------------------------------------------------------------------------- */

static bool is_whole(const cJSON *value) {
  return cJSON_IsNumber(value) && isfinite(value->valuedouble) && value->valuedouble == floor(value->valuedouble);
}

static bool is_digits(const cJSON *value) {
  if (!cJSON_IsString(value) || !value->valuestring[0]) return false;
  if (value->valuestring[strspn(value->valuestring, "0123456789")]) return false;
  errno = 0;
  (void)strtoumax(value->valuestring, NULL, 10);
  return errno == 0;
}

static bool within(const struct hr__key *key, double number) {
  return number >= key->min && number <= key->max;
}

bool hr__key_fits(const struct hr__key *key, const cJSON *value) {
  switch (key->type) {
  case HR__KEY_OBJECT:
    return cJSON_IsObject(value) && within(key, cJSON_GetArraySize(value));
  case HR__KEY_LIST:
    return cJSON_IsArray(value) && within(key, cJSON_GetArraySize(value));
  case HR__KEY_TEXT:
    return cJSON_IsString(value) && within(key, (double)strlen(value->valuestring));
  case HR__KEY_WHOLE:
    return is_whole(value) && within(key, value->valuedouble);
  case HR__KEY_REAL:
    return cJSON_IsNumber(value) && within(key, value->valuedouble);
  case HR__KEY_BOOLEAN:
    return cJSON_IsBool(value);
  case HR__KEY_SEED:
    return (is_whole(value) && within(key, value->valuedouble)) || is_digits(value);
  case HR__KEY_SCALAR:
    return cJSON_IsString(value) || cJSON_IsBool(value) || (cJSON_IsNumber(value) && isfinite(value->valuedouble));
  }
  return false;
}

void hr__key_found(const cJSON *value, char *text, size_t size) {
  if (cJSON_IsString(value) && strlen(value->valuestring) > 60)
    snprintf(text, size, "a text of %zu bytes", strlen(value->valuestring));
  else if (cJSON_IsString(value))
    snprintf(text, size, "the text \"%s\"", value->valuestring);
  else if (cJSON_IsNumber(value) && !isfinite(value->valuedouble))
    snprintf(text, size, "a number beyond all bounds");
  else if (cJSON_IsNumber(value))
    snprintf(text, size, "the number %.15g", value->valuedouble);
  else if (cJSON_IsArray(value))
    snprintf(text, size, value->child ? "a list" : "an empty list");
  else if (cJSON_IsObject(value))
    snprintf(text, size, "an object");
  else
    snprintf(text, size, "%s", cJSON_IsTrue(value) ? "true" : cJSON_IsFalse(value) ? "false" : "null");
}

void hr__key_wanted(const struct hr__key *key, char *text, size_t size) {
  switch (key->type) {
  case HR__KEY_OBJECT:
    snprintf(text, size, "an object {...} of at most %.15g keys", key->max);
    return;
  case HR__KEY_LIST:
    snprintf(text, size, "a list of %.15g to %.15g entries", key->min, key->max);
    return;
  case HR__KEY_TEXT:
    snprintf(text, size, "a text \"...\" of %s%.15g bytes", key->min > 0 ? "1 to " : "at most ", key->max);
    return;
  case HR__KEY_WHOLE:
    snprintf(text, size, "a whole number from %.15g to %.15g", key->min, key->max);
    return;
  case HR__KEY_REAL:
    snprintf(text, size, "a number from %.15g to %.15g", key->min, key->max);
    return;
  case HR__KEY_BOOLEAN:
    snprintf(text, size, "true or false");
    return;
  case HR__KEY_SEED:
    snprintf(text, size, "a whole number from 0 to %.0f, or the digits of one up to %" PRIu64 " as text,", key->max,
             UINT64_MAX);
    return;
  case HR__KEY_SCALAR:
    snprintf(text, size, "a text, a number, true or false");
    return;
  }
}

void hr__key_unknown(const char *path, const char *name, const char *const *known, char *text, size_t size) {
  const char *nearest = hr_nearest_word(name, known), *dot = path[0] ? "." : "";
  int used = snprintf(text, size, "unknown key '%s%s%.60s'%s", path, dot, name, nearest ? "; " : " ");
  if (nearest) used += snprintf(text + used, size - (size_t)used, "did you mean '%s%s%s'? ", path, dot, nearest);
  used += snprintf(text + used, size - (size_t)used, "(known keys");
  for (size_t i = 0; known[i] && (size_t)used + strlen(known[i]) + 4 < size; i++)
    used += snprintf(text + used, size - (size_t)used, "%s%s", i ? ", " : ": ", known[i]);
  snprintf(text + used, size - (size_t)used, ")");
}
