/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sweep_setup.h"

#include "output_files.h"

#include <CUnit/CUnit.h>
#include <stdio.h>

static const char scenario[] = "{\"name\":\"t\",\"seed\":5,\"trace\":{\"file\":\"jobs.csv\"},\"cluster\":{\"pools\":["
                               "{\"name\":\"p\",\"gpu\":\"V100\",\"nodes\":1,\"gpus_per_node\":8}]},"
                               "\"policy\":{\"name\":\"queue\"}}";
static const char grid[] = "{\"scenario\":\"s.json\",\"axes\":["
                           "{\"name\":\"the \\\"nodes\\\"\",\"path\":\"cluster.pools.0.nodes\",\"values\":[1,2]},"
                           "{\"name\":\"order\",\"path\":\"policy.order\",\"values\":[\"fifo\",\"sjf\"]}]}";
static const char jobs[] = "job_id,submit_s,gpus,duration_s,tenant\n"
                           "1,0,8,100,a\n2,1,8,50,b\n3,2,8,10,b\n4,300,8,20,\n";

void sweep_write(const char *name, const char *text) {
  FILE *file = fopen(files_path(name), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  fclose(file);
}

void sweep_setup(struct sweep_paths *paths) {
  sweep_write("s.json", scenario);
  sweep_write("g.json", grid);
  sweep_write("jobs.csv", jobs);
  snprintf(paths->grid, sizeof paths->grid, "%s", files_path("g.json"));
  snprintf(paths->file, sizeof paths->file, "%s", files_path("g.sqlite"));
  (void)remove(paths->file);
}
