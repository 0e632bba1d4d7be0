/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Policies and parameters by name, and the suggestions for mistyped names. */

#include "harness.h"
#include "headroom/policies.h"

#include <string.h>

static void defaults_equal_the_table(void) {
  struct hr_policy_choice choice;
  char buffer[32];
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "queue", NULL), HR_OK);
  for (size_t i = 0; i < choice.n_params; i++)
    CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&choice, i, buffer), choice.ops->params[i].fallback);
  hr_policy_choice_finish(&choice);
}

static void value_is_read_back(void) {
  struct hr_policy_choice choice;
  char buffer[32];
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "queue", NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "backfill", "conservative", NULL), HR_OK);
  CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&choice, 1, buffer), "conservative");
  hr_policy_choice_finish(&choice);
}

static void numbers_have_the_shortest_form(void) {
  struct hr_policy_choice choice;
  char buffer[32];
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "queue", NULL), HR_OK);
  for (size_t i = 0; i < choice.n_params; i++)
    CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&choice, i, buffer), choice.ops->params[i].fallback);
  size_t decay = 0;
  while (strcmp(choice.ops->params[decay].key, "qssf_decay") != 0) decay++;
  static const char *const texts[] = {"0.1", "0.333333333333333", "0.30000000000000004", "1e-07", "0"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "qssf_decay", texts[i], NULL), HR_OK);
    CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&choice, decay, buffer), texts[i]);
  }
  hr_policy_choice_finish(&choice);
}

static void mistyped_names_get_suggestions(void) {
  struct hr_policy_choice choice;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr_policy_choice_init(&choice, "quee", &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "did you mean 'queue'"));
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "queue", NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "ordr", "fifo", &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "did you mean 'order'"));
  CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "order", "fifi", &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "did you mean 'fifo'"));
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "largest"));
  hr_policy_choice_finish(&choice);
}

static void policies_have_all_members(void) {
  for (const struct hr_policy_ops *const *policy = hr_policies(); *policy; policy++) {
    CU_ASSERT_EQUAL((*policy)->abi, HR_POLICY_ABI);
    CU_ASSERT_PTR_NOT_NULL((*policy)->create);
    CU_ASSERT_PTR_NOT_NULL((*policy)->decide);
    CU_ASSERT(strlen((*policy)->summary) > 0);
    for (const struct hr_param *param = (*policy)->params; param && param->key; param++)
      CU_ASSERT(strlen(param->help) > 0);
  }
}

static const char *value_of(const struct hr_policy_choice *choice, const char *key) {
  static char buffer[32];
  for (size_t i = 0; i < choice->n_params; i++)
    if (strcmp(choice->ops->params[i].key, key) == 0) return hr_policy_choice_text(choice, i, buffer);
  return "";
}

static void setting_is_a_policy_with_values(void) {
  for (const struct hr_policy_setting *at = hr_policy_settings(); at->name; at++) {
    struct hr_policy_choice choice;
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, at->name, NULL), HR_OK);
    CU_ASSERT_STRING_EQUAL(choice.ops->name, at->policy);
    CU_ASSERT_PTR_EQUAL(hr_policy_setting_find(at->name), at);
    CU_ASSERT_PTR_NOT_NULL(at->values[0].key);
    for (const struct hr_policy_value *value = at->values; value->key; value++)
      CU_ASSERT_STRING_EQUAL(value_of(&choice, value->key), value->value);
    hr_policy_choice_finish(&choice);
  }
  CU_ASSERT_PTR_NULL(hr_policy_setting_find("queue"));
}

static void mistyped_settings_get_suggestions(void) {
  struct hr_policy_choice choice;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr_policy_choice_init(&choice, "conservativ", &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "did you mean 'conservative'"));
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "kueue, fifo"));
}

/* The rules of the policy `deadline` were formerly values of the parameter `market` of the policy `queue`. These values
   still select `deadline`, whether other parameters are set before or afterwards. */
static void former_market_rules_select_the_policy(void) {
  struct hr_policy_choice choice;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "sjf", NULL), HR_OK);
  CU_ASSERT_TRUE(hr_policy_choice_has(&choice, "changeover_s") && !hr_policy_choice_has(&choice, "rule"));
  CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "placement", "worst-fit", NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "changeover_s", "60", NULL), HR_OK);
  CU_ASSERT_STRING_EQUAL(choice.ops->name, "queue");
  CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "market", "omniscient", NULL), HR_OK);
  CU_ASSERT_STRING_EQUAL(choice.ops->name, "deadline");
  CU_ASSERT_STRING_EQUAL(value_of(&choice, "rule"), "omniscient");
  CU_ASSERT_STRING_EQUAL(value_of(&choice, "changeover_s"), "60");
  CU_ASSERT_STRING_EQUAL(value_of(&choice, "placement"), "worst-fit");
  CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "placement", "first-fit", NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "backfill", "easy", NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "rule", "deadline-greedy", NULL), HR_OK);
  CU_ASSERT_STRING_EQUAL(value_of(&choice, "placement"), "first-fit");
  CU_ASSERT_STRING_EQUAL(value_of(&choice, "rule"), "deadline-greedy");
  CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "ordr", "sjf", &error), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "market", "spot-fist", &error), HR_BAD_INPUT);
  CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "market", "spot-first", NULL), HR_OK);
  CU_ASSERT_STRING_EQUAL(choice.ops->name, "queue");
  CU_ASSERT_STRING_EQUAL(value_of(&choice, "order"), "sjf");
  CU_ASSERT_STRING_EQUAL(value_of(&choice, "backfill"), "easy");
  hr_policy_choice_finish(&choice);
}

TEST_MAIN("policy registry", TEST(former_market_rules_select_the_policy), TEST(setting_is_a_policy_with_values),
          TEST(mistyped_settings_get_suggestions), TEST(defaults_equal_the_table), TEST(value_is_read_back),
          TEST(numbers_have_the_shortest_form), TEST(mistyped_names_get_suggestions), TEST(policies_have_all_members))
