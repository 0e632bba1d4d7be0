/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_QUEUE_CHOICE_H
#define HR_TESTS_QUEUE_CHOICE_H

/* The queue policy with some of its parameters set, for tests; whatever cannot fail in a sound test ends the program.
 */

#include "headroom/policies.h"

#include <stdio.h>
#include <stdlib.h>

static inline void queue_set(struct hr_policy_choice *choice, const char *key, const char *text) {
  struct hr_error error;
  if (hr_policy_choice_set(choice, key, text, &error) == HR_OK) return;
  fprintf(stderr, "%s\n", error.text);
  abort();
}

static inline void queue_set_number(struct hr_policy_choice *choice, const char *key, double value) {
  char text[40];
  snprintf(text, sizeof text, "%.17g", value);
  queue_set(choice, key, text);
}

/* A choice, or a boolean, by its place among the values. */
static inline void queue_set_place(struct hr_policy_choice *choice, const char *key, int64_t place) {
  for (size_t i = 0; i < choice->n_params; i++)
    for (const char *a = choice->ops->params[i].key, *b = key; *a == *b; a++, b++)
      if (!*a) {
        choice->params[i].integer = place;
        return;
      }
  abort();
}

/* First come first served, as the defaults are. */
static inline struct hr_policy_choice queue_choice(const char *backfill, const char *placement) {
  struct hr_policy_choice choice;
  if (hr_policy_choice_init(&choice, "queue", NULL) != HR_OK) abort();
  queue_set(&choice, "backfill", backfill);
  queue_set(&choice, "placement", placement);
  return choice;
}

#endif
