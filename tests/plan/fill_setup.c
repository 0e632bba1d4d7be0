/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fill_setup.h"

#include "output_files.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hr_scenario *load(unsigned nodes, unsigned gpus_per_node) {
  char path[300];
  struct hr_error error = {0};
  struct hr_scenario *scenario = NULL;
  snprintf(path, sizeof path, "%s", files_path("s.json"));
  FILE *file = fopen(path, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fprintf(file,
          "{\"name\":\"t\",\"seed\":5,\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"V100\",\"nodes\":%u,"
          "\"gpus_per_node\":%u}]},\"policy\":{\"name\":\"queue\"}}",
          nodes, gpus_per_node);
  fclose(file);
  if (hr_scenario_load(path, NULL, 0, &scenario, &error) != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scenario);
  return scenario;
}

static void add_job(struct hr_trace_builder *builder, const char *row) {
  struct hr_job_record job;
  char *tasks;
  hr_job_record_init(&job);
  double gpus = strtod(row, &tasks);
  job.submit_us = 0;
  job.work_us = 1;
  job.gpus = gpus > 0 && gpus < 1 ? 1 : (uint32_t)gpus;
  if (gpus > 0 && gpus < 1) job.gpu_milli = (uint32_t)(gpus * 1000 + 0.5);
  if (*tasks == ',') job.tasks = (uint32_t)strtoul(tasks + 1, NULL, 10);
  CU_ASSERT_EQUAL_FATAL(hr_trace_builder_add(builder, &job, 1, NULL), HR_OK);
}

static struct hr_trace *trace_of(const char *rows) {
  struct hr_trace_builder *builder = hr_trace_builder_create("rows", "memory");
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  CU_ASSERT_PTR_NOT_NULL_FATAL(builder);
  for (; *rows; rows = strchr(rows, '\n') + 1) add_job(builder, rows);
  if (hr_trace_builder_finish(builder, false, false, &trace, &error) != HR_OK) printf("\n  %s\n", error.text);
  hr_trace_builder_destroy(builder);
  CU_ASSERT_PTR_NOT_NULL_FATAL(trace);
  return trace;
}

static uint32_t count_rules(void) {
  uint32_t count = 0;
  while (hr_packing_rules()[count]) count++;
  return count;
}

void fill_setup_make(struct fill_setup *setup, unsigned nodes, unsigned gpus_per_node, const char *rows,
                     const char *rule) {
  *setup = (struct fill_setup){.scenario = load(nodes, gpus_per_node), .trace = trace_of(rows)};
  if (rule) setup->rule = hr_packing_rule_find(rule, NULL);
  setup->config = (struct hr_fill_config){.scenario = setup->scenario,
                                          .trace = setup->trace,
                                          .rules = rule ? &setup->rule : hr_packing_rules(),
                                          .n_rules = rule ? 1 : count_rules(),
                                          .n_seeds = 2,
                                          .to = 1.3,
                                          .n_threads = 1};
}

void fill_setup_finish(struct fill_setup *setup) {
  hr_scenario_destroy(setup->scenario);
  hr_trace_destroy(setup->trace);
}
