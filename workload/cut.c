/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A window of a trace, and of its jobs those of some tenants, users or GPU types. */

#include "headroom/transform.h"
#include "workload/rebuild.h"

#include <stdlib.h>
#include <string.h>

void hr_cut_spec_init(struct hr_cut_spec *spec) {
  *spec = (struct hr_cut_spec){.from_us = INT64_MIN, .to_us = INT64_MAX};
}

struct cut {
  const struct hr_trace *trace;
  const struct hr_cut_spec *spec;
  bool *tenants, *users, *gpu_types; /* by name: whether it is wanted; NULL: all are */
};

/* ---- Which names ------------------------------------------------------------------------------------ */

static bool is_listed(const struct hr_name_list *list, const char *text, size_t length) {
  for (size_t i = 0; i < list->count; i++)
    if (strlen(list->text[i]) == length && memcmp(list->text[i], text, length) == 0) return true;
  return false;
}

/* Whether one of the items between `|` is listed. */
static bool has_listed(const struct hr_name_list *list, const char *items) {
  for (;;) {
    size_t length = strcspn(items, "|");
    if (is_listed(list, items, length)) return true;
    if (items[length] == '\0') return false;
    items += length + 1;
  }
}

static enum hr_status check_names(const struct hr_trace *trace, const char *what, const struct hr_name_list *list,
                                  const struct hr_names *names, bool is_list, struct hr_error *error) {
  for (size_t i = 0; i < list->count; i++) {
    const struct hr_name_list one = {&list->text[i], 1};
    bool found = false;
    for (uint32_t name = 0; !found && name < names->count; name++)
      found = is_list ? has_listed(&one, names->text[name]) : strcmp(list->text[i], names->text[name]) == 0;
    if (!found)
      return hr_fail(error, HR_BAD_INPUT, "%s: no job has the %s '%.60s'", trace->source, what, list->text[i]);
  }
  return HR_OK;
}

static enum hr_status choose(const struct hr_trace *trace, const char *what, const struct hr_name_list *list,
                             const struct hr_names *names, bool **wanted, struct hr_error *error) {
  const bool is_list = names == &trace->gpu_type_lists;
  *wanted = NULL;
  if (!list->count) return HR_OK;
  enum hr_status status = check_names(trace, what, list, names, is_list, error);
  if (status != HR_OK) return status;
  *wanted = calloc((size_t)names->count + 1, sizeof **wanted);
  if (!*wanted) return hr__no_memory_for(trace, error);
  for (uint32_t i = 0; i < names->count; i++)
    (*wanted)[i] = is_list ? has_listed(list, names->text[i]) : is_listed(list, names->text[i], strlen(names->text[i]));
  return HR_OK;
}

/* `if_unknown`: what is said of a job that tells no name. */
static bool is_wanted(const bool *wanted, const uint32_t *column, uint32_t job, bool if_unknown) {
  uint32_t name = column ? column[job] : HR_NONE;
  return !wanted || (name == HR_NONE ? if_unknown : wanted[name]);
}

/* ---- Which jobs ------------------------------------------------------------------------------------- */

/* Whether it ran when the window began. */
static bool was_running(const struct cut *cut, uint32_t job) {
  const struct hr_trace *trace = cut->trace;
  int64_t start_us = trace->recorded_start_us[job], from_us = cut->spec->from_us;
  return start_us != HR_UNKNOWN_US && start_us < from_us && start_us + trace->work_us[job] > from_us;
}

static bool is_in(const struct cut *cut, uint32_t job) {
  const struct hr_trace *trace = cut->trace;
  const struct hr_cut_spec *spec = cut->spec;
  int64_t submit_us = trace->submit_us[job];
  if (submit_us >= spec->to_us) return false;
  if (submit_us < spec->from_us && !(spec->keep_running && was_running(cut, job))) return false;
  return is_wanted(cut->tenants, trace->tenant, job, false) && is_wanted(cut->users, trace->user, job, false) &&
         is_wanted(cut->gpu_types, trace->gpu_types, job, true);
}

static int64_t less(int64_t us, int64_t by_us) {
  if (us == HR_UNKNOWN_US) return us;
  return us > by_us ? us - by_us : 0;
}

/* What of a job is left at the window's begin. */
static void keep_rest(struct hr_job_record *record, int64_t from_us) {
  int64_t ran_us = from_us - record->recorded_start_us;
  record->submit_us = record->recorded_start_us = from_us;
  record->work_us -= ran_us;
  record->limit_us = less(record->limit_us, ran_us);
  record->estimate_us = less(record->estimate_us, ran_us);
  record->fail_at_ppm = HR_NONE;
  if (record->deadline_us != INT64_MIN && record->deadline_us < from_us) record->deadline_us = INT64_MIN;
}

static enum hr_status add_jobs(const struct cut *cut, struct hr__rebuild *rebuild, struct hr_error *error) {
  const struct hr_trace *trace = cut->trace;
  const uint32_t most = cut->spec->most_jobs ? cut->spec->most_jobs : UINT32_MAX;
  enum hr_status status = HR_OK;
  for (uint32_t job = 0; status == HR_OK && job < trace->n_jobs && rebuild->n_jobs < most; job++) {
    if (!is_in(cut, job)) continue;
    struct hr_job_record record;
    char id[HR_JOB_ID_BUFFER];
    hr_trace_job_record(trace, (hr_job){job}, &record, id);
    if (trace->submit_us[job] < cut->spec->from_us) keep_rest(&record, cut->spec->from_us + trace->origin_us);
    status = hr__rebuild_add(rebuild, trace, (hr_job){job}, &record, error);
  }
  return status;
}

static enum hr_status no_job(const struct hr_trace *trace, struct hr_error *error) {
  double last_s = (double)trace->submit_us[trace->n_jobs - 1] / (double)HR_SECOND_US;
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: no job is left: the last one is submitted %.9g s after the first, and none is what was asked for",
                 trace->source, last_s);
}

static enum hr_status check(const struct hr_trace *trace, const struct hr_cut_spec *spec, struct hr_error *error) {
  if (spec->from_us >= spec->to_us)
    return hr_fail(error, HR_BAD_INPUT, "%s: a window that ends at %.9g s and begins at %.9g s holds nothing",
                   trace->source, (double)spec->to_us / (double)HR_SECOND_US,
                   (double)spec->from_us / (double)HR_SECOND_US);
  if (spec->keep_running && !trace->recorded_start_us)
    return hr_fail(
        error, HR_BAD_INPUT,
        "%s: does not tell when jobs started (column start_s), and so not which ones ran when the window begins",
        trace->source);
  return HR_OK;
}

enum hr_status hr_transform_cut(const struct hr_trace *trace, const struct hr_cut_spec *spec, struct hr_trace **made,
                                struct hr_error *error) {
  struct cut cut = {.trace = trace, .spec = spec};
  *made = NULL;
  enum hr_status status = check(trace, spec, error);
  if (status == HR_OK) status = choose(trace, "tenant", &spec->tenants, &trace->tenants, &cut.tenants, error);
  if (status == HR_OK) status = choose(trace, "user", &spec->users, &trace->users, &cut.users, error);
  if (status == HR_OK)
    status = choose(trace, "GPU type", &spec->gpu_types, &trace->gpu_type_lists, &cut.gpu_types, error);
  if (status == HR_OK) {
    struct hr__rebuild rebuild;
    status = hr__rebuild_begin(&rebuild, trace, error);
    if (status == HR_OK) status = add_jobs(&cut, &rebuild, error);
    if (status == HR_OK && !rebuild.n_jobs) status = no_job(trace, error);
    status = hr__rebuild_end(&rebuild, status, trace->dated, made, error);
  }
  free(cut.tenants);
  free(cut.users);
  free(cut.gpu_types);
  return status;
}
