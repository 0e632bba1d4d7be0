/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/overrides.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum hr_status overrides_add(struct overrides *overrides, const char *path, const char *value, struct hr_error *error) {
  size_t bytes = strlen(path) + strlen(value) + 2;
  char **grown = realloc(overrides->owned, (overrides->n_owned + 1) * sizeof *grown);
  if (grown) overrides->owned = grown;
  char *text = grown ? malloc(bytes) : NULL;
  if (!text) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  snprintf(text, bytes, "%s=%s", path, value);
  grown[overrides->n_owned++] = text;
  return words_add(&overrides->words, text, error);
}

/* Takes the texts over. */
static enum hr_status take(struct overrides *overrides, char **texts, size_t count, struct hr_error *error) {
  char **grown = realloc(overrides->owned, (overrides->n_owned + count + 1) * sizeof *grown);
  if (!grown) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  overrides->owned = grown;
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < count && status == HR_OK; i++) {
    status = words_add(&overrides->words, texts[i], error);
    grown[overrides->n_owned++] = texts[i];
    texts[i] = NULL;
  }
  return status;
}

enum hr_status overrides_add_policy(struct overrides *overrides, const char *option, const char *policy,
                                    struct hr_error *error) {
  char **texts;
  size_t count;
  struct hr_error inner = {0};
  enum hr_status status = hr_policy_overrides(policy, &texts, &count, &inner);
  if (status == HR_OK) status = take(overrides, texts, count, &inner);
  for (size_t i = 0; i < count; i++) free(texts[i]);
  free(texts);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "--%s %.200s: %s", option, policy, inner.text);
}

void overrides_finish(struct overrides *overrides) {
  for (size_t i = 0; i < overrides->n_owned; i++) free(overrides->owned[i]);
  free(overrides->owned);
  words_finish(&overrides->words);
}
