/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "expected.h"

#include "trace_files.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool same_number(const char *id, const char *what, double wanted, double got) {
  if (fabs(wanted - got) < 1e-6) return true;
  fprintf(stderr, "\n    job %s: %s is %.9g, not %.9g\n", id, what, got, wanted);
  return false;
}

static bool same_name(const char *id, const char *what, const char *wanted, const struct hr_names *names,
                      const uint32_t *column, uint32_t job) {
  const char *got = column && column[job] != HR_NONE ? names->text[column[job]] : NULL;
  if (!got == !wanted && (!got || strcmp(got, wanted) == 0)) return true;
  fprintf(stderr, "\n    job %s: %s is %s, not %s\n", id, what, got ? got : "unknown", wanted ? wanted : "unknown");
  return false;
}

static double instant_s(const int64_t *column, uint32_t job) {
  return column && column[job] != HR_UNKNOWN_US ? (double)column[job] / 1e6 : -1;
}

static bool same_times(const struct hr_trace *trace, const struct expected_job *wanted, uint32_t job) {
  double limit_s = instant_s(trace->limit_us, job);
  return same_number(wanted->id, "submit", wanted->submit_s, (double)trace->submit_us[job] / 1e6) &&
         same_number(wanted->id, "start", wanted->start_s, instant_s(trace->recorded_start_us, job)) &&
         same_number(wanted->id, "run time", wanted->work_s, (double)trace->work_us[job] / 1e6) &&
         same_number(wanted->id, "limit", wanted->limit_s, limit_s < 0 ? 0 : limit_s);
}

static bool same_names(const struct hr_trace *trace, const struct expected_job *wanted, uint32_t job) {
  return same_name(wanted->id, "tenant", wanted->tenant, &trace->tenants, trace->tenant, job) &&
         same_name(wanted->id, "user", wanted->user, &trace->users, trace->user, job) &&
         same_name(wanted->id, "model", wanted->model, &trace->models, trace->model, job) &&
         same_name(wanted->id, "gpu types", wanted->gpu_types, &trace->gpu_type_lists, trace->gpu_types, job) &&
         same_name(wanted->id, "MIG profile", wanted->mig_profile, &trace->mig_profiles, trace->mig_profile, job);
}

static bool same_requests(const struct hr_trace *trace, const struct expected_job *wanted, uint32_t job) {
  const char *id = wanted->id;
  return same_number(id, "GPUs", wanted->gpus, trace->gpus[job]) &&
         same_number(id, "tasks", wanted->tasks, trace->tasks ? trace->tasks[job] : 1) &&
         same_number(id, "share", wanted->gpu_milli ? wanted->gpu_milli : 1000,
                     trace->gpu_milli ? trace->gpu_milli[job] : 1000) &&
         same_number(id, "CPUs", wanted->cpu_milli, trace->cpu_milli ? trace->cpu_milli[job] : 0) &&
         same_number(id, "memory", (double)wanted->mem_mib, trace->mem_mib ? (double)trace->mem_mib[job] : 0);
}

static bool same_rest(const struct hr_trace *trace, const struct expected_job *wanted, uint32_t job) {
  const char *id = wanted->id;
  bool fails = trace->fail_at_ppm && trace->fail_at_ppm[job] != HR_NONE;
  return same_number(id, "outcome", wanted->outcome, trace->outcome ? trace->outcome[job] : 0) &&
         same_number(id, "priority", wanted->priority, trace->priority ? trace->priority[job] : 0) &&
         same_number(id, "class", wanted->class_, trace->class_ ? trace->class_[job] : 0) &&
         same_number(id, "flags", wanted->flags, trace->flags ? trace->flags[job] : 0) &&
         same_number(id, "fail at", wanted->fail_at, fails ? (double)trace->fail_at_ppm[job] / 1e6 : 0);
}

bool jobs_are(const struct hr_trace *trace, const char *format, const struct expected_job *jobs, uint32_t n) {
  if (!trace || strcmp(trace->format, format) != 0 || trace->n_jobs != n) {
    fprintf(stderr, "\n    %u jobs of format %s\n", trace ? trace->n_jobs : 0, trace ? trace->format : "none");
    return false;
  }
  bool fine = true;
  for (uint32_t i = 0; i < n; i++) {
    char buffer[HR_JOB_ID_BUFFER];
    const char *id = hr_trace_job_id(trace, (hr_job){i}, buffer);
    if (strcmp(id, jobs[i].id) != 0) {
      fprintf(stderr, "\n    job %u is %s, not %s\n", i, id, jobs[i].id);
      return false;
    }
    fine = same_times(trace, &jobs[i], i) && same_names(trace, &jobs[i], i) && same_requests(trace, &jobs[i], i) &&
           same_rest(trace, &jobs[i], i) && fine;
  }
  return fine;
}

uint64_t left_out(const struct hr_trace *trace, const char *reason, uint64_t first_line) {
  for (uint32_t i = 0; i < trace->n_skipped_reasons; i++)
    if (strcmp(trace->skipped[i].reason, reason) == 0 && trace->skipped[i].first_line == first_line)
      return trace->skipped[i].count;
  return 0;
}

bool is_detected_as(const char *text, const char *format) {
  char message[1000] = "";
  struct hr_trace *trace = trace_of(text, NULL);
  bool valid = trace != NULL, same_format = valid && strcmp(trace->format, format) == 0;
  if (!valid) snprintf(message, sizeof message, "%s", trace_error());
  hr_trace_destroy(trace);
  if (valid) return same_format;
  trace = trace_of(text, &(struct hr_trace_options){.format = format});
  bool same_message = !trace && strcmp(trace_error(), message) == 0;
  hr_trace_destroy(trace);
  return same_message;
}

bool is_unknown_json(const char *text) {
  struct hr_trace *trace = trace_of(text, NULL);
  bool unknown = !trace && strstr(trace_error(), "JSON of an unknown trace format");
  hr_trace_destroy(trace);
  return unknown;
}
