/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_QUEUE_CHOICE_H
#define HR_TESTS_KIT_QUEUE_CHOICE_H

/* Functions to set parameters of the queue policy in tests. Errors are defects of the test, so the program aborts. */

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

/* Sets a parameter that is a choice or a boolean. `place` is the index of the value in the parameter's list of
   values. */
static inline void queue_set_place(struct hr_policy_choice *choice, const char *key, int64_t place) {
  for (size_t i = 0; i < choice->n_params; i++)
    for (const char *a = choice->ops->params[i].key, *b = key; *a == *b; a++, b++)
      if (!*a) {
        choice->params[i].integer = place;
        return;
      }
  abort();
}

/* Returns the queue policy with the given backfill and placement, which acquires all elastic nodes at all times, and
   with defaults for all other parameters. */
static inline struct hr_policy_choice queue_choice(const char *backfill, const char *placement) {
  struct hr_policy_choice choice;
  if (hr_policy_choice_init(&choice, "queue", NULL) != HR_OK) abort();
  queue_set(&choice, "backfill", backfill);
  queue_set(&choice, "placement", placement);
  queue_set(&choice, "market", "static");
  return choice;
}

#endif
