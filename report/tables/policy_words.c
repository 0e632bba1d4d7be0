/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Describes a policy and its parameters as text. */

#include "report/tables/policy_words.h"

#include "base/text.h"
#include "headroom/policies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *hr__policy_words(const struct hr_policy_choice *choice) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  const char *separator = ": ";
  fputs(choice->ops->name, out);
  for (size_t i = 0; i < choice->n_params; i++) {
    char buffer[HR__NUMBER_BYTES];
    const struct hr_param *param = &choice->ops->params[i];
    const char *value = hr_policy_choice_text(choice, i, buffer);
    if (param->advanced && strcmp(value, param->fallback) == 0) continue;
    fprintf(out, "%s%s %s", separator, param->key, value);
    separator = ", ";
  }
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}
