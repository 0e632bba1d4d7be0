/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the Helios Venus trace files from the folder REAL_TRACES_DIR, and runs them with both schedulers. */

#include "helios_case.h"

#include "headroom/trace_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HELIOS REAL_TRACES_DIR "/helios-venus/helios_trace.csv.gz"
#define SEPTEMBER REAL_TRACES_DIR "/helios-venus/helios_venus_2vc_sept.csv"

static bool is_missing(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file) fclose(file);
  if (!file) fprintf(stderr, "\n*** SKIPPED: real trace %s is missing ***\n", path);
  return !file;
}

static bool read_trace(const char *path, const char *columns, uint32_t nodes, struct replay_case *workload) {
  if (is_missing(path)) return false;
  struct hr_column_map map = {0};
  struct hr_trace *trace = NULL;
  struct hr_error error;
  enum hr_status status = hr_column_map_parse(&map, columns, &error);
  if (status == HR_OK) status = hr_trace_read(path, &(struct hr_trace_options){.map = &map}, &trace, &error);
  if (status != HR_OK) {
    fprintf(stderr, "%s\n", error.text);
    abort();
  }
  *workload = (struct replay_case){
      .jobs = replay_jobs_of(trace), .n_jobs = trace->n_jobs, .pools = {{.shape = {nodes, 8}}}, .n_pools = 1};
  hr_column_map_finish(&map);
  hr_trace_destroy(trace);
  return true;
}

bool helios_read(struct replay_case *workload, uint32_t nodes) {
  return read_trace(HELIOS, "submit=arrival_s,duration=service_sec,gpus=gpu_count", nodes, workload);
}

bool helios_read_september(struct replay_case *workload, uint32_t nodes) {
  const char *columns = "submit=submit_time(us),gpus=num_chips,limit=walltime_limit_s,status=final_status";
  if (!read_trace(SEPTEMBER, columns, nodes, workload)) return false;
  workload->params = replay_default_params();
  for (uint32_t i = 0; i < workload->n_jobs; i++)
    workload->jobs[i].name = 1 + (i * (REPLAY_NAMES - 1) / workload->n_jobs + i % 5) % (REPLAY_NAMES - 1);
  return true;
}

void helios_set_synthetic_limits(struct replay_case *workload) {
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    uint32_t scrambled = i * UINT32_C(2654435761) >> 16;
    int64_t extra_percent = i % 4 ? scrambled % 200 : 0;
    workload->jobs[i].limit = workload->jobs[i].work + workload->jobs[i].work * extra_percent / 100;
  }
}

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool helios_rules_differ(const struct hr_trace *trace, const struct replay_case *workload, struct replay_rules rules) {
  char text[64];
  double begun_s = now_s();
  struct replay_outcome naive = replay_naive(workload, rules);
  double naive_s = now_s() - begun_s;
  begun_s = now_s();
  struct replay_outcome headroom = replay_headroom(trace, workload, rules, false);
  double headroom_s = now_s() - begun_s;
  uint32_t job = replay_first_difference(&naive, &headroom);
  printf("\n    %-36s naive %7.2f s, Headroom %5.2f s", replay_rules_text(rules, text), naive_s, headroom_s);
  if (naive.result.undecided) printf(": a decision depended on nearly equal usages");
  if (headroom.failed)
    printf(": Headroom failed: %s", headroom.error.text);
  else if (job != HR_NONE)
    printf(": job %" PRIu32 " starts at %" PRId64 ", Headroom: %" PRId64, job, naive.result.start[job],
           headroom.result.start[job]);
  fflush(stdout);
  replay_outcome_finish(&naive);
  replay_outcome_finish(&headroom);
  return job != HR_NONE;
}
