/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Services with errors or with keys without effect: the messages and their places. The replica of the service is in
   line 2 of the file, its engine in line 3, its cost in line 4. */

#include "headroom/unstable/services.h"
#include "loading.h"

#include <stdio.h>

enum { TEXT = 4000 };

/* Members for write_service. `service` and `replica` are lists that end in a comma, or NULL. `engine` and `cost`
   replace the default members; NULL: the defaults. */
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

/* The time of an iteration must be positive. */
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

/* ---- Names and keys --------------------------------------------------------------------------------- */

static void duplicates(void) {
#define WEIGHTS(...) "\"router\":{\"name\":\"weighted\",\"weights\":[" __VA_ARGS__ "]},"
#define WEIGHT(key, name) "{\"" key "\":\"" name "\",\"weight\":1}"
  static const struct {
    struct parts parts;
    const char *expected;
  } rows[] = {
      {{.service = WEIGHTS(WEIGHT("pool", "p") "," WEIGHT("pool", "l") ",\n" WEIGHT("pool", "p"))},
       "s.json:2:9: duplicate weight of 'p'; keep one"},
      {{.service = WEIGHTS(WEIGHT("gpu_type", "L4") ",\n" WEIGHT("gpu_type", "L4"))},
       "s.json:2:13: duplicate weight of 'L4'; keep one"},
      {{.service = "\"router\":{\"name\":\"first-available\",\"order\":[\"p\",\"l\",\n\"p\"]},"},
       "s.json:2:1: duplicate 'p'; keep one"},
      {{.engine = "\"name\":\"dynamic-batch\",\"preferred_batch_size\":[2,4,\n2]"},
       "s.json:4:1: duplicate size 2; keep one"},
      {{.engine = "\"name\":\"vllm-v0\",\"kv_blocks\":100,\n\"watermark\":1"},
       "s.json:4:13: expected less than 1, as a prompt that leaves all blocks free never starts"},
      {{.engine = "\"name\":\"sarathi\",\"kv_blocks\":100,\n\"watermark\":1"}, "s.json:4:13: expected less than 1"},
      {{.replica = "\"gpu_type\":\"L4||A100-80\","}, "s.json:2:23: empty name in the list 'L4||A100-80'"},
      {{.replica = "\"gpu_type\":\"L4|\","}, "s.json:2:23: empty name in the list 'L4|'"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    write_service(&rows[i].parts);
    expect_error(NULL, 0, rows[i].expected);
  }
}

/* Returns the first note that begins with "service 's': " and has the words; NULL: none. */
static const char *note_of(const struct hr_scenario *scenario, const char *words) {
  for (size_t i = 0; i < scenario->notes.count; i++)
    if (strstr(scenario->notes.text[i], words)) return scenario->notes.text[i];
  return NULL;
}

/* Keys that the engine does not use, and names of lists that no pool has, are noted. */
static void keys_without_effect(void) {
  static const struct {
    struct parts parts;
    const char *words, *note; /* NULL: no note with the words */
  } rows[] = {
      {{.engine = "\"kv_blocks\":9,\"max_batch_tokens\":99,\"block_tokens\":8"}, "without effect", NULL},
      {{.engine = "\"kv_blocks\":9,\"chunk_tokens\":9,\"watermark\":1,\"servers\":2"},
       "without effect",
       "service 's': without effect with the engine 'vllm-v1': 'chunk_tokens', 'watermark', 'servers'"},
      {{.engine = "\"name\":\"sarathi\",\"kv_blocks\":9,\"chunk_tokens\":9,\"watermark\":0.5"}, "without effect", NULL},
      {{.engine = "\"name\":\"single\",\"kv_tokens\":9,\"servers\":2,\"discipline\":\"ps\""},
       "without effect",
       "service 's': without effect with the engine 'single': 'kv_tokens'"},
      {{.engine = "\"name\":\"static\",\"kv_tokens\":9,\"max_queue_delay_us\":2,\"transfer\":{}"},
       "without effect",
       "service 's': without effect with the engine 'static': 'transfer', 'max_queue_delay_us'"},
      {{.engine = "\"name\":\"colocated\",\"chunked\":true,\"decode_pressure\":0.5,\"decode_replicas\":2",
        .cost = PHASES("1,0,0", "1,0,0", "")},
       "without effect",
       "service 's': without effect with the engine 'colocated': 'decode_replicas'"},
      {{.replica = "\"gpu_type\":\"L4|zz\","},
       "no pool for",
       "service 's': no pool for its replicas has the GPU type 'zz' of 'gpu_type' (GPU types: A100-80, L4)"},
      {{.replica = "\"gpu_type\":\"A10-80|L4\","},
       "no pool for",
       "service 's': no pool for its replicas has the GPU type 'A10-80' of 'gpu_type'; did you mean 'A100-80'? (GPU "
       "types: A100-80, L4)"},
      {{.replica = "\"gpu_type\":\"l4|A100-80\","}, "no pool for", NULL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    write_service(&rows[i].parts);
    struct hr_scenario *scenario = load(NULL, 0);
    const char *note = note_of(scenario, rows[i].words);
    if (!note != !rows[i].note || (note && strcmp(note, rows[i].note) != 0))
      printf("\n  expected: %s\n  got:      %s\n", rows[i].note ? rows[i].note : "none", note ? note : "none");
    CU_ASSERT_EQUAL(!note, !rows[i].note);
    if (note && rows[i].note) CU_ASSERT_STRING_EQUAL(note, rows[i].note);
    hr_scenario_destroy(scenario);
  }
}

/* ---- Replicas --------------------------------------------------------------------------------------- */

/* The sizes in messages are those of the pools that the replica accepts: the A100 pool has more and larger GPUs. */
static void sizes_of_accepted_pools(void) {
  write_service(&(struct parts){.replica = "\"gpu_type\":\"L4\",\"gpus\":9,"});
  expect_error(NULL, 0, "s.json:2:35: no pool that the replica accepts has 9 GPUs; the largest such pool has 4");
  write_service(&(struct parts){.replica = "\"gpu_type\":\"L4\",\"gpu_mem_gb\":60,"});
  expect_error(NULL, 0, "s.json:2:41: has 60 GiB for each GPU; the largest GPU has 24");
}

static void spill_needs_clusters(void) {
  write_service(&(struct parts){.service = "\"router\":{\"spill\":{\"to\":\n\"clusters\",\"predicted_wait_s\":1}},"});
  expect_error(NULL, 0, "s.json:2:1: 'clusters' needs replicas in several clusters, but 'clusters' of the service");
}

/* Replicas that do not fit into any MIG instance: the reason must not contain the empty name of a profile. */
static void replicas_without_instance(void) {
  static const char *const rows[][2] = {
      {"\"gpus\":2,\"mig\":\"1g.10gb\"",
       "s.json:3:19: a replica can never start in a pool: MIG instances of several GPUs; expected 1 GPU, or a pool "
       "without MIG"},
      {"\"gpus\":2", "s.json:3:19: a replica can never start in a pool: 1 GPU"},
      {"\"gpu_milli\":900",
       "s.json:3:24: no MIG instance is as large as it requests without 'mig' (900 thousandths of a "
       "GPU, 0 GiB); set 'mig', or request less"},
      {"\"gpu_milli\":100,\"gpu_mem_gb\":30",
       "s.json:3:41: without 'mig' (100 thousandths of a GPU, 30 GiB); set 'mig'"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[TEXT];
    snprintf(
        text, sizeof text,
        "{\"cluster\":{\"mig_fallback\":true,\"pools\":[{\"name\":\"p\",\"gpu\":\"A100-80\",\"nodes\":1,"
        "\"gpus_per_node\":4,\"sharing\":\"mig\",\"mig\":{\"layout\":\"all-1g.10gb\"}}]},\n\"services\":[{\"name\":"
        "\"s\",\"requests\":{\"rate_per_s\":1,\"count\":9,\"prompt_tokens\":{\"mean\":9},\"output_tokens\":"
        "{\"mean\":9}},\n\"replica\":{%s,\"engine\":{\"name\":\"single\"},\"cost\":{\"fixed_us\":1000}}}]}",
        rows[i][0]);
    write_text(text);
    expect_error(NULL, 0, rows[i][1]);
  }
}

TEST_MAIN("rules of services", TEST(create_test_folder), TEST(costs_without_time), TEST(published_costs),
          TEST(duplicates), TEST(keys_without_effect), TEST(sizes_of_accepted_pools), TEST(spill_needs_clusters),
          TEST(replicas_without_instance), TEST(remove_test_folder))
