/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drawn requests of services in scenarios: values, defaults, and the position and key words of each error. */

#include "loading.h"

#include "headroom/unstable/services.h"

/* A scenario with one service. The keys of its requests start at the beginning of the second line. */
#define SERVICE(requests)                                                                                              \
  "{\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"L4\",\"nodes\":1,\"gpus_per_node\":8}]},\"services\":[{"         \
  "\"name\":\"s\",\"replica\":{\"engine\":{\"kv_blocks\":100},\"cost\":{\"fixed_us\":10}},\"requests\":{\n" requests   \
  "}}]}"
#define TOKENS "\"prompt_tokens\":{\"mean\":10},\"output_tokens\":{\"mean\":5}"
#define RATE "\"rate_per_s\":2,"

static void values_and_defaults(void) {
  write_text(SERVICE("\"arrivals\":\"gamma\",\"cv\":2.5," RATE "\"duration_s\":60,\"count\":7,\"seed\":3,"
                     "\"growth_per_year\":1.5,\"weekly\":[1,2,3,4,5,6,0],\"prompt_tokens\":{\"distribution\":"
                     "\"log-normal\",\"mean\":10,\"sigma\":0.5,\"max\":64},\"output_tokens\":{\"mean\":5}"));
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  const struct hr_request_draw *draw = &scenario->services->at[0].draw;
  CU_ASSERT_PTR_NULL(scenario->services->at[0].requests);
  CU_ASSERT_EQUAL(draw->arrivals, HR_ARRIVALS_GAMMA);
  CU_ASSERT_EQUAL(draw->cv, 2.5);
  CU_ASSERT_EQUAL(draw->rate_per_s, 2);
  CU_ASSERT_EQUAL(draw->duration_us, 60 * HR_SECOND_US);
  CU_ASSERT_EQUAL(draw->count, 7);
  CU_ASSERT_EQUAL(draw->seed, 3);
  CU_ASSERT_EQUAL(draw->growth_per_year, 1.5);
  CU_ASSERT_EQUAL(draw->n_hourly, 0);
  CU_ASSERT_EQUAL_FATAL(draw->n_weekly, 7);
  CU_ASSERT_EQUAL(draw->weekly[5], 6);
  CU_ASSERT_EQUAL(draw->prompt.kind, HR_TOKENS_LOG_NORMAL);
  CU_ASSERT_EQUAL(draw->prompt.sigma, 0.5);
  CU_ASSERT_EQUAL(draw->prompt.max, 64);
  CU_ASSERT_EQUAL(draw->output.kind, HR_TOKENS_FIXED);
  CU_ASSERT_EQUAL(draw->output.mean, 5);
  CU_ASSERT_EQUAL(draw->output.min, 1);
  hr_scenario_destroy(scenario);
}

static void errors_have_their_place(void) {
  static const struct {
    const char *text, *message;
  } rows[] = {
      {SERVICE(TOKENS ",\"count\":1"), "s.json:1:173: requests need 'trace' or 'rate_per_s'"},
      {SERVICE("\"trace\":\"r.csv\",\"count\":1"), "s.json:2:17: 'trace' and 'count' exclude each other"},
      {SERVICE(RATE TOKENS), "s.json:1:173: drawn requests need 'duration_s' or 'count'"},
      {SERVICE(RATE "\"count\":1,\"prompt_tokens\":{\"mean\":10}"),
       "s.json:1:173: drawn requests need 'output_tokens'"},
      {SERVICE("\"rate_per_s\":-1,\"count\":1," TOKENS), "s.json:2:14: 'services.0.requests.rate_per_s' ..."},
      {SERVICE(RATE "\"count\":0," TOKENS), "s.json:2:24: 'services.0.requests.count' ..."},
      {SERVICE(RATE "\"cv\":2,\"count\":1," TOKENS), "s.json:2:21: 'cv' is not a parameter of the arrivals 'poisson'"},
      {SERVICE(RATE "\"arrivals\":\"gama\",\"count\":1," TOKENS), "s.json:2:27: 'services.0.requests.arrivals' ..."},
      {SERVICE(RATE "\"hourly\":[1,2],\"count\":1," TOKENS), "s.json:2:25: 'services.0.requests.hourly' ..."},
      {SERVICE(RATE "\"weekly\":[0,0,0,0,0,0,0],\"count\":1," TOKENS), "s.json:2:25: all factors are 0 ..."},
      {SERVICE(RATE "\"count\":1,\"prompt_tokens\":{\"mean\":10},\"output_tokens\":{\"mean\":0}"),
       "s.json:2:78: 'services.0.requests.output_tokens.mean' ..."},
      {SERVICE(RATE "\"count\":1,\"prompt_tokens\":{},\"output_tokens\":{\"mean\":1}"),
       "s.json:2:42: the distribution 'fixed' needs 'mean'"},
      {SERVICE(RATE "\"count\":1,\"prompt_tokens\":{\"mean\":1,\"sigma\":1},\"output_tokens\":{\"mean\":1}"),
       "s.json:2:60: 'sigma' is not a parameter of the distribution 'fixed'"},
      {SERVICE(RATE "\"count\":1,\"prompt_tokens\":{\"mean\":1,\"min\":9,\"max\":8},\"output_tokens\":{\"mean\":1}"),
       "s.json:2:58: 'min' is above 'max' (8)"},
      {SERVICE(RATE
               "\"count\":1,\"prompt_tokens\":{\"mean\":1,\"distribution\":\"normal\"},\"output_tokens\":{\"mean\":1}"),
       "s.json:2:67: 'services.0.requests.prompt_tokens.distribution' ..."},
      {SERVICE(RATE "\"duraton_s\":1," TOKENS), "s.json:2:16: unknown key 'services.0.requests.duraton_s' ..."},
      {SERVICE("\"rate_per_s\":1e6,\"duration_s\":1e6," TOKENS), "s.json:2:31: ..."},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    write_text(rows[i].text);
    expect_error(NULL, 0, rows[i].message);
  }
}

TEST_MAIN("requests of services", TEST(create_test_folder), TEST(values_and_defaults), TEST(errors_have_their_place),
          TEST(remove_test_folder))
