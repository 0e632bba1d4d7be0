/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "setup.h"

#include "headroom/unstable/compare.h"
#include "output_files.h"

#include <CUnit/CUnit.h>
#include <string.h>

/* Four jobs of 8 GPUs, for a cluster of 8 GPUs. All jobs except the last are submitted at about the same time. */
static const char jobs_csv[] = "job_id,submit_s,gpus,duration_s,tenant\n"
                               "1,0,8,100,a\n2,1,8,50,b\n3,2,8,10,b\n4,300,8,20,\n";

static struct hr_scenario *load(const char *pool, const char *more) {
  char text[1000], path[300];
  struct hr_error error = {0};
  struct hr_scenario *scenario = NULL;
  int used = snprintf(text, sizeof text, "{\"name\":\"t\",\"seed\":5,\"cluster\":{\"pools\":[");
  snprintf(text + used, sizeof text - (size_t)used, pool, more);
  strcat(text, "]},\"policy\":{\"name\":\"queue\"}}");
  snprintf(path, sizeof path, "%s", files_path("s.json"));
  FILE *file = fopen(path, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  fclose(file);
  if (hr_scenario_load(path, NULL, 0, &scenario, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  return scenario;
}

static struct hr_trace *read_trace(void) {
  char path[300];
  struct hr_trace *trace = NULL;
  snprintf(path, sizeof path, "%s", files_path("jobs.csv"));
  FILE *file = fopen(path, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(jobs_csv, file);
  fclose(file);
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(path, &(struct hr_trace_options){.format = "csv"}, &trace, NULL), HR_OK);
  return trace;
}

void setup_make(struct setup *setup, const char *pool, const char *more, const char *const *names,
                uint32_t replications) {
  *setup = (struct setup){.scenario = load(pool, more), .trace = read_trace()};
  uint32_t count = 0;
  for (; count < MAX_POLICIES && names[count]; count++) {
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&setup->choices[count], names[count], NULL), HR_OK);
    setup->contenders[count] = (struct hr_contender){names[count], names[count], &setup->choices[count]};
  }
  setup->config = (struct hr_compare_config){.scenario = setup->scenario,
                                             .trace = setup->trace,
                                             .contenders = setup->contenders,
                                             .n_contenders = count,
                                             .n_replications = replications,
                                             .n_threads = 2};
}

void setup_finish(struct setup *setup) {
  for (uint32_t i = 0; i < setup->config.n_contenders; i++) hr_policy_choice_finish(&setup->choices[i]);
  hr_trace_destroy(setup->trace);
  hr_scenario_destroy(setup->scenario);
}
