/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Services that are wrong or have keys without effect: the messages and their places. The replica of the service is in
   line 2 of the file, its engine in line 3, its cost in line 4. */

#include "headroom/unstable/services.h"
#include "loading.h"

#include <stdio.h>

enum { TEXT = 4000 };

/* Writes a scenario with a service. Each part is a list of members that ends in a comma, or NULL. */
struct parts {
  const char *service, *replica, *engine, *cost;
};

static void write_service(const struct parts *parts) {
  char text[TEXT];
  snprintf(
      text, sizeof text,
      "{\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"A100-80\",\"nodes\":1,\"gpus_per_node\":8},"
      "{\"name\":\"l\",\"gpu\":\"L4\",\"nodes\":1,\"gpus_per_node\":4}]},\"services\":[{\"name\":\"s\",%s"
      "\"requests\":{\"rate_per_s\":1,\"count\":9,\"prompt_tokens\":{\"mean\":9},\"output_tokens\":{\"mean\":9}},\n"
      "\"replica\":{%s\n\"engine\":{%s},\n\"cost\":{%s}}}]}",
      parts->service ? parts->service : "", parts->replica ? parts->replica : "",
      parts->engine ? parts->engine : "\"kv_blocks\":1000", parts->cost ? parts->cost : "\"fixed_us\":1000");
  write_text(text);
}

/* ---- Costs ------------------------------------------------------------------------------------------ */

#define PHASES(prefill, decode, more) "\"distserve\":{\"prefill_ms\":[" prefill "],\"decode_ms\":[" decode "]" more "}"
#define NOTHING ",\"overhead_ms\":0,\"overhead_token_ms\":0,\"stage_ms\":0"
#define KNOT(tokens, prompt_us, token_us)                                                                              \
  "{\"tokens\":" #tokens ",\"prompt_us\":" #prompt_us ",\"token_us\":" #token_us "}"

/* No iteration may take no time or a negative time. */
static void costs_without_time(void) {
  static const char *const phases[][2] = {
      {PHASES("-1,0,0", "1,0,0", ""), "s.json:4:36: expected at least 0, found -1"},
      {PHASES("1,-0.5,0", "1,0,0", ""), "s.json:4:38: expected at least 0, found -0.5"},
      {PHASES("1,0,0", "1,0,-2", ""), "s.json:4:60: expected at least 0, found -2"},
      {PHASES("1,0,0", "1,0,0", ",\"decode_large_ms\":[1,-3,0]"), "s.json:4:84: expected at least 0, found -3"},
      {PHASES("1,0,-1", "1,0,0", NOTHING), "s.json:4:35: an iteration with 1 token of a prompt takes no time"},
      {PHASES("1,0.4,-0.0001", "1,0,0", ""), "s.json:4:35: an iteration with 32768 tokens of a prompt takes no time"},
      {PHASES("0,0,0", "0,0,0", NOTHING), "s.json:4:35: an iteration with 1 token of a prompt takes no time"},
      {PHASES("1,0,0", "0,0,0", NOTHING), "s.json:4:55: an iteration with a decoding sequence takes no time"},
      {PHASES("1,0,0", "1,0,0", ",\"decode_large_ms\":[0,0,0]" NOTHING),
       "s.json:4:81: an iteration with 95 decoding sequences takes no time"},
  };
  for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
    write_service(&(struct parts){.engine = "\"name\":\"disaggregated\"", .cost = phases[i][0]});
    expect_error(NULL, 0, phases[i][1]);
  }
  static const char *const tables[][2] = {
      {"\"table\":[" KNOT(1, 0, 0) "," KNOT(2, 0, 0) "]", "s.json:4:42: an iteration takes no time; at least 0.001"},
      {"\"table\":[" KNOT(1, 5, 5) "," KNOT(9, 5, 0) "]", "s.json:4:95: an iteration takes no time; at least 0.001"},
      {"\"table\":[" KNOT(0, 0, 0) "," KNOT(9, 0, 5) "]", "s.json:4:82: an iteration takes no time; at least 0.001"},
      {"\"table\":[" KNOT(8, 5, 9) "," KNOT(9, 9, 9) "]", "s.json:4:17: an iteration with 1 tokens of prompts takes no "
                                                          "time, as 'prompt_us' is linear beyond the first two "
                                                          "knots; add a knot, or lower 'max_batch_tokens'"},
      {"\"table\":[" KNOT(1, 9, 9) "," KNOT(2, 9, 8) "]", "s.json:4:17: an iteration with 256 decoding sequences takes "
                                                          "no time, as 'token_us' is linear beyond the last two "
                                                          "knots; add a knot, or lower 'max_sequences'"},
      {"\"mixed_factor\":0,\"table\":[" KNOT(1, 9, 9) "," KNOT(2, 9, 9) "]", "s.json:4:24: prompts and decodes"},
      {"\"per_prompt_token_us\":5", "s.json:4:8: an iteration takes no time; set 'fixed_us', or the times"}};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    write_service(&(struct parts){.cost = tables[i][0]});
    expect_error(NULL, 0, tables[i][1]);
  }
}

/* Published fits: a square term below 0 (OPT-66B with vLLM), and a table whose last piece decreases (Llama-2-70B). */
static void published_costs(void) {
  write_service(
      &(struct parts){.engine = "\"name\":\"colocated\"",
                      .cost = PHASES("58.382203,0.3826408,-7.1141487e-06", "57.073441,0.0036461139,0.22493736", "")});
  hr_scenario_destroy(load(NULL, 0));
  write_service(&(struct parts){.engine = "\"name\":\"orca-splitwise\",\"kv_blocks\":1000,\"max_batch_tokens\":16384",
                                .cost = "\"table\":[" KNOT(128, 81075, 53678) "," KNOT(16384, 6632000, 58600) "," KNOT(
                                    32768, 794000, 53600) "]"});
  hr_scenario_destroy(load(NULL, 0));
  write_service(&(struct parts){.cost = "\"table\":[" KNOT(0, 0, 0) "," KNOT(10, 10, 10) "]"});
  hr_scenario_destroy(load(NULL, 0));
}

TEST_MAIN("rules of services", TEST(create_test_folder), TEST(costs_without_time), TEST(published_costs),
          TEST(remove_test_folder))
