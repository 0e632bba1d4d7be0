/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs as bytes, as one rank of an MPI job sends them to another. The JSON of the copy is equal in all digits, even
   after the original was freed. Truncated parcels are rejected. */

#include "harness.h"
#include "output_files.h"
#include "plan/runner/runner.h"
#include "scarce_memory.h"

#include <stdlib.h>
#include <string.h>

/* A run with several pools, tenants, classes, costs, energy, carbon, a budget that is exceeded, alerts and notes. */
struct made {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr__one_run run;
};

static void make(struct made *made) {
  static const char *const overrides[] = {
      "costs.budgets=[{\"tenant\":\"serving\",\"usd_per_month\":10},{\"tenant\":\"nobody\",\"usd_per_month\":10}]",
      "cluster.power={\"gpu_idle_w\":50,\"gpu_max_w\":300,\"host_idle_w\":100,\"host_max_w\":200}",
      "cluster.carbon={\"g_per_kwh\":400}"};
  struct hr_error error;
  *made = (struct made){0};
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(PROJECT_DIR "/scenarios/reserved-spot-mix.json", overrides,
                                         sizeof overrides / sizeof *overrides, &made->scenario, &error),
                        HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr__input_trace_read(made->scenario, made->scenario->trace_file, &made->trace, &error), HR_OK);
  const struct hr__one_run_config config = {.scenario = made->scenario,
                                            .trace = made->trace,
                                            .policy = &made->scenario->policy,
                                            .seed = made->scenario->seed,
                                            .alerts = true};
  CU_ASSERT_EQUAL_FATAL(hr__one_run_make(&config, &made->run, &error), HR_OK);
}

static void finish(struct made *made) {
  hr__one_run_finish(&made->run);
  hr_trace_destroy(made->trace);
  hr_scenario_destroy(made->scenario);
}

static char *json_of(const struct made *made, const struct hr__one_run *run) {
  const struct hr_notes *notes[] = {&run->notes};
  const struct hr_run_label label = {.scenario = made->scenario->name,
                                     .trace = made->trace->source,
                                     .format = made->trace->format,
                                     .cluster = &made->scenario->cluster,
                                     .policy = &made->scenario->policy,
                                     .notes = notes,
                                     .n_notes = 1,
                                     .alerts = run->alerts};
  const struct hr_perf perf = {0};
  char *text = hr_summary_json(run->summary, &label, &perf);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  return text;
}

static void runs_round_trip(void) {
  struct made made;
  make(&made);
  CU_ASSERT(made.run.summary->n_pools > 1 && made.run.summary->n_tenants > 1 && made.run.summary->n_classes > 1);
  CU_ASSERT(made.run.summary->costs->n_budgets > 0 && made.run.notes.count > 0);
  CU_ASSERT(made.run.summary->energy.n_pools > 1 && made.run.summary->energy.n_tenants > 1);
  CU_ASSERT(made.run.summary->carbon.n_pools > 1 && made.run.summary->carbon.n_tenants > 1);
  char *before = json_of(&made, &made.run);
  CU_ASSERT_PTR_NOT_NULL(strstr(before, "\"over-budget\""));
  CU_ASSERT_PTR_NOT_NULL(strstr(before, "\"gpus-saturated\""));
  struct hr__parcel parcel = {0};
  double seconds = made.run.seconds;
  hr__parcel_one_run(&parcel, &made.run);
  CU_ASSERT_FALSE(parcel.failed);
  hr__one_run_finish(&made.run);
  struct hr__parcel same = {.bytes = parcel.bytes, .size = parcel.used, .reading = true};
  hr__parcel_one_run(&same, &made.run);
  CU_ASSERT(!same.failed && same.used == same.size && made.run.seconds == seconds);
  char *after = json_of(&made, &made.run);
  CU_ASSERT_STRING_EQUAL(before, after);
  free(before);
  free(after);
  hr__parcel_finish(&parcel);
  finish(&made);
}

static void runs_without_costs_and_alerts_round_trip(void) {
  struct hr__one_run run = {.summary = calloc(1, sizeof *run.summary)}, copy = {0};
  struct hr__parcel parcel = {0};
  CU_ASSERT_PTR_NOT_NULL_FATAL(run.summary);
  run.summary->fairness.over = "jobs";
  hr__parcel_one_run(&parcel, &run);
  struct hr__parcel same = {.bytes = parcel.bytes, .size = parcel.used, .reading = true};
  hr__parcel_one_run(&same, &copy);
  CU_ASSERT_FALSE_FATAL(same.failed);
  CU_ASSERT(copy.summary->costs == NULL && copy.alerts == NULL && copy.notes.count == 0);
  CU_ASSERT_STRING_EQUAL(copy.summary->fairness.over, "jobs");
  hr__one_run_finish(&run);
  hr__one_run_finish(&copy);
  hr__parcel_finish(&parcel);
}

/* A proper prefix of a parcel is incomplete and is rejected; the parts that were read are freed. */
static void parcels_that_are_cut_off(void) {
  struct made made;
  make(&made);
  struct hr__parcel parcel = {0};
  hr__parcel_one_run(&parcel, &made.run);
  for (size_t size = 0; size < parcel.used; size += size < 20000 ? 97 : 997) {
    struct hr__parcel part = {.bytes = parcel.bytes, .size = size, .reading = true};
    struct hr__one_run copy = {0};
    hr__parcel_one_run(&part, &copy);
    CU_ASSERT_TRUE(part.failed);
    hr__one_run_finish(&copy);
  }
  hr__parcel_finish(&parcel);
  finish(&made);
}

static struct made starved;

static enum hr_status pack_and_unpack(void) {
  struct hr__parcel parcel = {0};
  struct hr__one_run copy = {0};
  hr__parcel_one_run(&parcel, &starved.run);
  bool packed = !parcel.failed;
  struct hr__parcel same = {.bytes = parcel.bytes, .size = parcel.used, .reading = true};
  if (packed) hr__parcel_one_run(&same, &copy);
  hr__one_run_finish(&copy);
  hr__parcel_finish(&parcel);
  return packed && !same.failed ? HR_OK : HR_NO_MEMORY;
}

static void no_memory_for_a_parcel(void) {
  make(&starved);
  CU_ASSERT(starve(pack_and_unpack) > 100);
  finish(&starved);
}

TEST_MAIN("plan: runs as bytes", TEST(runs_round_trip), TEST(runs_without_costs_and_alerts_round_trip),
          TEST(parcels_that_are_cut_off), TEST(no_memory_for_a_parcel))
