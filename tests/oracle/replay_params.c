/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names for jobs, and the parameters of orders that depend on past usage or on finished jobs. */

#include "or_abort.h"
#include "replay.h"

#include <inttypes.h>

/* Most names consist of a stem and a number. LONG_STEM has 64 characters, and `qssf` compares only the first 64
   characters, so it ignores the number after this stem. */
#define LONG_STEM "a-name-that-goes-on-and-on-until-all-that-counts-of-it-has-been-"
_Static_assert(sizeof LONG_STEM == 64 + 1, "number of characters that qssf compares");
#define NAMES_OF(n) "train-" #n, "bert" #n, LONG_STEM #n, "x" #n
static const char *const names[REPLAY_NAMES] = {NULL,         NAMES_OF(0),  NAMES_OF(1),  NAMES_OF(2),  NAMES_OF(3),
                                                NAMES_OF(14), NAMES_OF(15), NAMES_OF(16), NAMES_OF(27), NAMES_OF(28),
                                                NAMES_OF(29), NAMES_OF(30), "bert-large", "train",      "y"};

const char *replay_name(uint32_t name) {
  return names[name];
}

struct naive_params replay_default_params(void) {
  return (struct naive_params){.half_life = 604800 * HR_SECOND_US,
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
  ok_or_abort(hr_policy_choice_set(choice, key, text, &error), &error);
}

void replay_set_params(struct hr_policy_choice *choice, const struct naive_params *params, const char *fair_share) {
  struct hr_error error;
  if (fair_share) ok_or_abort(hr_policy_choice_set(choice, "fair_share", fair_share, &error), &error);
  ok_or_abort(hr_policy_choice_set(choice, "favor_small", params->favor_small ? "true" : "false", &error), &error);
  set_real(choice, "half_life_s", (double)params->half_life / 1e6);
  set_real(choice, "calc_period_s", (double)params->calc_period / 1e6);
  set_real(choice, "max_age_s", (double)params->max_age / 1e6);
  set_real(choice, "weight_age", params->weight_age);
  set_real(choice, "weight_fair_share", params->weight_fair_share);
  set_real(choice, "weight_size", params->weight_size);
  set_real(choice, "weight_qos", params->weight_qos);
  set_real(choice, "qssf_decay", params->decay);
  set_real(choice, "qssf_similarity", params->similarity);
}

void replay_print_params(const struct naive_params *params) {
  printf("half life %" PRId64 ", calc period %" PRId64 ", max age %" PRId64
         ", weights age %g fair share %g size %g qos %g, "
         "favor small %d, decay %g, similarity %g, of tenants",
         params->half_life, params->calc_period, params->max_age, params->weight_age, params->weight_fair_share,
         params->weight_size, params->weight_qos, params->favor_small, params->decay, params->similarity);
  for (uint32_t t = 0; t < REPLAY_TENANTS; t++) printf(" %g", params->tenant_weight[t]);
  printf("\n");
}
