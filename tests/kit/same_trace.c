/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "same_trace.h"

#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hr__stream draws;

void random_start(uint64_t seed) {
  hr__stream_init(&draws, seed, HR__PURPOSE_SAMPLE, 77, 0);
}

uint32_t random_below(uint32_t bound) {
  return (uint32_t)((uint64_t)hr__stream_next(&draws) * bound >> 32);
}

/* ---- Random traces ---------------------------------------------------------------------------------- */

static const char *const names[] = {"ann",   "bob,jr", " cat", "d\"e\"", "line\nend", "\xC3\xA9t\xC3\xA9",
                                    "cr\rx", "tab\t",  "7",    "#h"};
static const char *const numbers[] = {"0", "7", "12", "4000000000"};
static const char *const lists[] = {"A100", "A100|H100-80", "T4|V100"};

static struct hr_text text(const char *at) {
  return (struct hr_text){at, strlen(at)};
}

#define ONE_OF(words) text((words)[random_below(sizeof(words) / sizeof *(words))])

static int64_t random_us(bool whole, uint32_t max_s) {
  int64_t us = (int64_t)random_below(max_s) * HR_SECOND_US;
  return whole ? us : us + random_below(3) * (int64_t)random_below(1000000);
}

/* The fields that jobs of a random trace may have. */
struct shape {
  bool has[32];
  int ids; /* 0: no ids; 1: numbers; 2: texts */
};

static void common_fields(struct hr_job_record *job, const struct random_spec *spec, const struct shape *shape) {
  bool plain = spec->plain;
  if (shape->has[0] && random_below(4)) job->user = plain ? ONE_OF(numbers) : ONE_OF(names);
  if (shape->has[1] && random_below(4)) job->tenant = plain ? ONE_OF(numbers) : ONE_OF(names);
  if (shape->has[2] && random_below(2)) job->limit_us = random_us(plain, 5000) + plain * HR_SECOND_US;
  if (shape->has[3]) job->outcome = (uint8_t)random_below(HR_N_OUTCOMES);
  if (shape->has[4] && random_below(3)) job->recorded_start_us = job->submit_us + random_us(plain, 50);
}

static void other_fields(struct hr_job_record *job, const struct shape *shape) {
  if (shape->has[5] && random_below(2)) job->tasks = job->gpus ? job->gpus : 3;
  if (shape->has[6] && random_below(2)) job->model = ONE_OF(names);
  if (shape->has[7] && random_below(2)) job->gpu_types = ONE_OF(lists);
  if (shape->has[8] && random_below(2)) job->regions = ONE_OF(lists);
  if (shape->has[9] && random_below(2)) job->mig_profile = text("1g.10gb");
  if (shape->has[10] && random_below(2)) job->estimate_us = random_us(false, 5000);
  if (shape->has[11] && random_below(2)) job->deadline_us = job->submit_us + random_us(false, 9000);
  if (shape->has[12] && random_below(2)) job->checkpoint_interval_us = random_us(false, 600);
  if (shape->has[13]) job->checkpoint_mib = random_below(2) * random_below(1 << 30);
  if (shape->has[14]) job->mem_mib = random_below(3) * random_below(5000);
  if (shape->has[15]) job->gpu_mem_mib = random_below(3) * random_below(81920);
  if (shape->has[16] && random_below(2)) job->min_gpus = job->gpus / 2;
  if (shape->has[17] && random_below(2)) job->max_gpus = job->gpus + random_below(3);
  if (shape->has[18]) job->cpu_milli = random_below(2) * random_below(1000000000);
  if (shape->has[19] && random_below(2)) job->gpu_milli = 1 + random_below(1000);
  if (shape->has[20] && random_below(2)) job->fail_at_ppm = random_below(1000001);
  if (shape->has[21]) job->priority = (int32_t)random_below(UINT32_MAX) * (int32_t)random_below(2);
  if (shape->has[21] && job->priority == INT32_MIN) job->priority = 1;
  if (shape->has[22]) job->class_ = (uint8_t)random_below(HR_N_CLASSES);
  if (shape->has[23]) job->flags = (uint8_t)random_below(4);
  if (shape->has[24]) job->within = (uint8_t)random_below(HR_TIER_POOL);
  if (shape->has[25] && job->within && random_below(2)) job->within_wait_us = random_us(false, 60);
  if (shape->has[26] && random_below(2)) job->queue = ONE_OF(names);
  if (shape->has[27] && random_below(2)) job->qos = ONE_OF(names);
  if (shape->has[28] && random_below(2)) job->gpu_power_ppm = random_below(1000001);
  if (shape->has[29] && random_below(2)) job->data_set = ONE_OF(names);
}

static struct hr_text random_id(const struct shape *shape, uint32_t row, char buffer[64]) {
  if (shape->ids == 0) return (struct hr_text){NULL, 0};
  snprintf(buffer, 64, shape->ids == 1 ? "%u" : "job %u, \"x\"", 1000 + 7 * row);
  return text(buffer);
}

static struct hr_job_record random_job(const struct random_spec *spec, const struct shape *shape, uint32_t row,
                                       int64_t zero_us, char buffer[64]) {
  struct hr_job_record job;
  hr_job_record_init(&job);
  job.id = random_id(shape, row, buffer);
  job.submit_us = zero_us + (spec->plain ? (int64_t)row / 3 * HR_SECOND_US : random_us(random_below(2), 40));
  job.work_us = random_us(spec->plain, 4000);
  job.gpus = spec->plain + random_below(9);
  common_fields(&job, spec, shape);
  if (!spec->plain) other_fields(&job, shape);
  return job;
}

struct hr_trace *random_trace(const struct random_spec *spec) {
  struct shape shape = {.ids = spec->plain ? (int)random_below(2) : (int)random_below(3)};
  for (size_t i = 0; i < sizeof shape.has; i++) shape.has[i] = spec->all_fields || random_below(2);
  bool dated = random_below(2), passed = true;
  int64_t zero_us = random_us(spec->plain, 2000000000);
  if (dated && random_below(3) == 0) zero_us = -zero_us;
  struct hr_trace_builder *builder = hr_trace_builder_create("random", "memory");
  uint32_t n = 1 + random_below(spec->max_jobs);
  struct hr_error error = {0};
  for (uint32_t row = 0; row < n; row++) {
    char buffer[64];
    struct hr_job_record job = random_job(spec, &shape, row, zero_us, buffer);
    passed = passed && hr_trace_builder_add(builder, &job, row + 1, &error) == HR_OK;
  }
  if (dated && !spec->plain && random_below(2)) hr_trace_builder_note_local_dates(builder);
  struct hr_trace *trace = NULL;
  passed = passed && hr_trace_builder_finish(builder, dated, false, &trace, &error) == HR_OK;
  if (!passed) fprintf(stderr, "\n    no random trace: %s\n", error.text);
  if (!passed) abort();
  hr_trace_builder_destroy(builder);
  return trace;
}

/* ---- Comparing -------------------------------------------------------------------------------------- */

static bool same_column(const char *what, const void *a, const void *b, size_t bytes) {
  bool same = (a == NULL) == (b == NULL) && (!a || memcmp(a, b, bytes) == 0);
  if (!same) fprintf(stderr, "\n    column '%s' differs\n", what);
  return same;
}

static bool same_names(const char *what, const struct hr_names *a, const struct hr_names *b) {
  bool same = a->count == b->count;
  for (uint32_t i = 0; same && i < a->count; i++) same = strcmp(a->text[i], b->text[i]) == 0;
  if (!same) fprintf(stderr, "\n    names of '%s' differ\n", what);
  return same;
}

static bool same_ids(const struct hr_trace *a, const struct hr_trace *b) {
  bool same = (a->id_text == NULL) == (b->id_text == NULL) && (a->id_number == NULL) == (b->id_number == NULL);
  for (uint32_t job = 0; same && job < a->n_jobs; job++) {
    char id_a[HR_JOB_ID_BUFFER], id_b[HR_JOB_ID_BUFFER];
    same = strcmp(hr_trace_job_id(a, (hr_job){job}, id_a), hr_trace_job_id(b, (hr_job){job}, id_b)) == 0;
  }
  if (!same) fprintf(stderr, "\n    ids differ\n");
  return same;
}

bool same_trace(const struct hr_trace *a, const struct hr_trace *b) {
  if (a->n_jobs != b->n_jobs || a->origin_us != b->origin_us || a->dated != b->dated || a->has_ids != b->has_ids) {
    fprintf(stderr, "\n    %u and %u jobs from %lld and %lld us\n", a->n_jobs, b->n_jobs, (long long)a->origin_us,
            (long long)b->origin_us);
    return false;
  }
  bool same = same_ids(a, b) && hr_trace_has_local_dates(a) == hr_trace_has_local_dates(b);
#define SAME(id, member, ...) same = same_column(#member, a->member, b->member, a->n_jobs * sizeof *a->member) && same;
#define SAME_NAMES(id, member, kind, key, column, section, set_id, set, ...)                                           \
  same = same_names(#set, &a->set, &b->set) && same;
  HR_JOB_COLUMN_TABLE(SAME, SAME)
  SAME(ROW, row, uint32_t)
  HR_JOB_COLUMN_TABLE(HR_NO_FIELD, SAME_NAMES)
#undef SAME
#undef SAME_NAMES
  return same;
}

/* ---- One job ---------------------------------------------------------------------------------------- */

static const char *name_at(const struct hr_names *all, const uint32_t *column, uint32_t job) {
  return column && column[job] != HR_NONE ? all->text[column[job]] : "";
}

/* Returns `value` of a job for comparison. Instants become absolute times (trace->origin_us is added), plus `later_us`.
 */
static int64_t comparable(const struct hr_trace *trace, const char *kind, int64_t value, int64_t later_us) {
  bool is_known_instant = strcmp(kind, "INSTANT") == 0 && value != HR_UNKNOWN_US;
  return is_known_instant ? value + trace->origin_us + later_us : value;
}

static int64_t unknown_of(const char *kind, int64_t unknown, uint32_t gpus) {
  if (strcmp(kind, "INSTANT") == 0) return HR_UNKNOWN_US;
  return strcmp(kind, "GPU_BOUND") == 0 ? (int64_t)gpus : unknown;
}

bool same_job(const struct hr_trace *a, uint32_t i, const struct hr_trace *b, uint32_t j, int64_t later_us) {
  bool same = true;
#define AT(trace, member, job, kind, unknown, later_us)                                                                \
  comparable(trace, kind,                                                                                              \
             (trace)->member ? (int64_t)(trace)->member[job]                                                           \
                             : unknown_of(kind, (int64_t)(unknown), (trace)->gpus[job]),                               \
             later_us)
#define VALUE(id, member, type, record_type, kind, key, column, required, unknown, ...)                                \
  if (AT(a, member, i, #kind, unknown, later_us) != AT(b, member, j, #kind, unknown, 0))                               \
    fprintf(stderr, "\n    '%s' differs\n", #member), same = false;
#define NAME(id, member, kind, key, column, section, set_id, set, ...)                                                 \
  if (strcmp(name_at(&a->set, a->member, i), name_at(&b->set, b->member, j)) != 0)                                     \
    fprintf(stderr, "\n    '%s' differs\n", #member), same = false;
  HR_JOB_COLUMN_TABLE(VALUE, NAME)
#undef AT
#undef VALUE
#undef NAME
  return same;
}
