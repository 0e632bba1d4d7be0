/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/throughputs.h"

#include <stdio.h>

static enum hr_status no_such_gpu(const char *path, const char *gpu, const cJSON *tree, struct hr_error *error) {
  enum { MOST_TYPES = 16 };
  const char *types[MOST_TYPES + 1];
  size_t n = 0;
  for (const cJSON *type = tree->child; type && n < MOST_TYPES; type = type->next)
    if (type->string) types[n++] = type->string;
  types[n] = NULL;
  const char *nearest = hr_nearest_word(gpu, types);
  return hr_fail(error, HR_BAD_INPUT, "%s: has no throughputs of GPU type '%.60s'%s%.60s%s", path, gpu,
                 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

enum hr_status hr__throughputs_read(const char *path, const char *gpu, struct hr__throughputs *throughputs,
                                    struct hr_error *error) {
  enum hr_status status = hr__json_file_read(path, &throughputs->file, error);
  if (status != HR_OK) return status;
  const cJSON *tree = throughputs->file.tree;
  throughputs->gpu = cJSON_IsObject(tree) ? cJSON_GetObjectItemCaseSensitive(tree, gpu) : NULL;
  if (cJSON_IsObject(throughputs->gpu)) return HR_OK;
  status = no_such_gpu(path, gpu, tree, error);
  hr__throughputs_finish(throughputs);
  return status;
}

double hr__throughputs_of(const struct hr__throughputs *throughputs, struct hr_text job_type, uint32_t gpus) {
  enum { MOST_KEY = 300 };
  char key[MOST_KEY];
  int length = snprintf(key, sizeof key, "('%.*s', %u)", (int)(job_type.length < MOST_KEY ? job_type.length : MOST_KEY),
                        job_type.at, gpus);
  if (length < 0 || length >= MOST_KEY) return 0;
  const cJSON *measured = cJSON_GetObjectItemCaseSensitive(throughputs->gpu, key);
  const cJSON *alone = cJSON_GetObjectItemCaseSensitive(measured, "null");
  return cJSON_IsNumber(alone) && alone->valuedouble > 0 ? alone->valuedouble : 0;
}

void hr__throughputs_finish(struct hr__throughputs *throughputs) {
  hr__json_file_finish(&throughputs->file);
  throughputs->gpu = NULL;
}
