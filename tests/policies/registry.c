/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Policies and parameters by name, and what a person who mistypes one is told. */

#include "harness.h"
#include "headroom/policies.h"

#include <string.h>

static void defaults_are_the_table_s(void) {
  struct hr_policy_choice choice;
  char buffer[32];
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "queue", NULL), HR_OK);
  for (size_t i = 0; i < choice.n_params; i++)
    CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&choice, i, buffer), choice.ops->params[i].fallback);
  hr_policy_choice_finish(&choice);
}

static void a_value_is_read_back_as_set(void) {
  struct hr_policy_choice choice;
  char buffer[32];
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "queue", NULL), HR_OK);
  CU_ASSERT_EQUAL(hr_policy_choice_set(&choice, "backfill", "conservative", NULL), HR_OK);
  CU_ASSERT_STRING_EQUAL(hr_policy_choice_text(&choice, 1, buffer), "conservative");
  hr_policy_choice_finish(&choice);
}

static void slips_are_answered_with_what_would_be_right(void) {
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

static void every_policy_is_complete(void) {
  for (const struct hr_policy_ops *const *policy = hr_policies(); *policy; policy++) {
    CU_ASSERT_EQUAL((*policy)->abi, HR_POLICY_ABI);
    CU_ASSERT_PTR_NOT_NULL((*policy)->create);
    CU_ASSERT_PTR_NOT_NULL((*policy)->decide);
    CU_ASSERT(strlen((*policy)->summary) > 0);
    for (const struct hr_param *param = (*policy)->params; param && param->key; param++)
      CU_ASSERT(strlen(param->help) > 0);
  }
}

TEST_MAIN("policy registry", TEST(defaults_are_the_table_s), TEST(a_value_is_read_back_as_set),
          TEST(slips_are_answered_with_what_would_be_right), TEST(every_policy_is_complete))
