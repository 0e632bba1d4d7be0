/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What orders with a memory go by, as the product is told. */

#include "replay.h"
#include "sound.h"

#include <inttypes.h>

/* Four stems, one of them as long as names count, and a number. */
#define LONG_STEM "a-name-that-goes-on-and-on-until-all-that-counts-of-it-has-been-"
_Static_assert(sizeof LONG_STEM == 64 + 1, "characters that count");
#define NAMES_OF(n) "train-" #n, "bert" #n, LONG_STEM #n, "x" #n
static const char *const names[REPLAY_NAMES] = {NULL,         NAMES_OF(0),  NAMES_OF(1),  NAMES_OF(2),  NAMES_OF(3),
                                                NAMES_OF(14), NAMES_OF(15), NAMES_OF(16), NAMES_OF(27), NAMES_OF(28),
                                                NAMES_OF(29), NAMES_OF(30), "bert-large", "train",      "y"};

const char *replay_name(uint32_t name) {
  return names[name];
}

struct naive_terms replay_default_terms(void) {
  return (struct naive_terms){.half_life = 604800 * HR_SECOND_US,
                              .calc_period = 300 * HR_SECOND_US,
                              .max_age = 604800 * HR_SECOND_US,
                              .weight_age = 1000,
                              .weight_fair_share = 1000,
                              .weight_size = 1000,
                              .weight_qos = 1000,
                              .decay = 0.8,
                              .similarity = 0.7};
}

static void set_real(struct hr_policy_choice *choice, const char *key, double value) {
  char text[32];
  struct hr_error error;
  snprintf(text, sizeof text, "%.17g", value);
  must(hr_policy_choice_set(choice, key, text, &error), &error);
}

void replay_set_terms(struct hr_policy_choice *choice, const struct naive_terms *terms, const char *fair_share) {
  struct hr_error error;
  if (fair_share) must(hr_policy_choice_set(choice, "fair_share", fair_share, &error), &error);
  must(hr_policy_choice_set(choice, "favor_small", terms->favor_small ? "true" : "false", &error), &error);
  set_real(choice, "half_life_s", (double)terms->half_life / 1e6);
  set_real(choice, "calc_period_s", (double)terms->calc_period / 1e6);
  set_real(choice, "max_age_s", (double)terms->max_age / 1e6);
  set_real(choice, "weight_age", terms->weight_age);
  set_real(choice, "weight_fair_share", terms->weight_fair_share);
  set_real(choice, "weight_size", terms->weight_size);
  set_real(choice, "weight_qos", terms->weight_qos);
  set_real(choice, "qssf_decay", terms->decay);
  set_real(choice, "qssf_similarity", terms->similarity);
}

void replay_print_terms(const struct naive_terms *terms) {
  printf("half life %" PRId64 ", calc period %" PRId64 ", max age %" PRId64
         ", weights age %g fair share %g size %g qos %g, "
         "favor small %d, decay %g, similarity %g, of tenants",
         terms->half_life, terms->calc_period, terms->max_age, terms->weight_age, terms->weight_fair_share,
         terms->weight_size, terms->weight_qos, terms->favor_small, terms->decay, terms->similarity);
  for (uint32_t t = 0; t < REPLAY_TENANTS; t++) printf(" %g", terms->tenant_weight[t]);
  printf("\n");
}
