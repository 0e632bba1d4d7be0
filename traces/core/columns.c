/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The columns of a trace, and their conversion to records.
 *
 * A trace has one array for each field that some job has; a record has one member for each field. Both are generated
 * from the table in headroom/job_fields.h. Instants are relative to the first submit in a trace, and on the clock of
 * the input in a record.
 *
 * Invariant: a value is valid in a column if and only if hr_job_record_fault() accepts it in a record.
 */

#include "traces/core/columns.h"

const struct hr__column_type hr__columns[HR__N_COLUMNS] = {
#define VALUE_COLUMN(id, field, type, record_type, value_kind, key, column, must_exist, blank, low, high, ...)         \
  [HR__COLUMN_##id] = {.name = #field,                                                                                 \
                       .kind = HR__##value_kind,                                                                       \
                       .width = sizeof(type),                                                                          \
                       .required = must_exist,                                                                         \
                       .at = offsetof(struct hr_trace, field),                                                         \
                       .unknown = (uint64_t)(blank),                                                                   \
                       .min = (uint64_t)(low),                                                                         \
                       .max = (uint64_t)(high)},
#define NAME_COLUMN(id, field, value_kind, key, column, section, set_id, set, ...)                                     \
  [HR__COLUMN_##id] = {.name = #field,                                                                                 \
                       .kind = HR__##value_kind,                                                                       \
                       .width = sizeof(uint32_t),                                                                      \
                       .has_names = true,                                                                              \
                       .at = offsetof(struct hr_trace, field),                                                         \
                       .names = offsetof(struct hr_trace, set),                                                        \
                       .unknown = HR_NONE},
    HR_JOB_COLUMN_TABLE(VALUE_COLUMN, NAME_COLUMN)
#undef VALUE_COLUMN
#undef NAME_COLUMN
        /* ids that are numbers; a builder stores texts in the same column */
        [HR__COLUMN_ID] = {.name = "id_number",
                           .kind = HR__TEXT,
                           .width = sizeof(int64_t),
                           .at = offsetof(struct hr_trace, id_number),
                           .max = UINT64_MAX}};

const struct hr__names_type hr__name_sets[HR__N_NAMES] = {
#define NAME_SET(id, member, kind, key, column, section, set_id, set, ...)                                             \
  [HR__##set_id] = {#set, offsetof(struct hr_trace, set)},
    HR_JOB_COLUMN_TABLE(HR_NO_FIELD, NAME_SET)
#undef NAME_SET
};

struct hr__value_range hr__column_range(const struct hr_trace *trace, enum hr__column_id id) {
  const struct hr__column_type *column = &hr__columns[id];
  if (column->has_names) {
    const struct hr_names *names = (const void *)((const char *)trace + column->names);
    return (struct hr__value_range){HR_NONE, names->count};
  }
  /* Instants are relative to the first submit: it may be at the minimum, and another instant at the maximum. */
  const uint64_t min = column->kind == HR__INSTANT ? 0 : column->min, span = column->max - column->min;
  bool may_be_unknown = !column->required && column->kind != HR__GPU_BOUND && column->unknown - column->min > span;
  /* unknown values that are out of bounds are min - 1, so the range is contiguous */
  return may_be_unknown ? (struct hr__value_range){min - 1, span + 1} : (struct hr__value_range){min, span};
}

/* ---- Records ---------------------------------------------------------------------------------------- */

void hr_job_record_init(struct hr_job_record *record) {
  /* clears the padding of the struct, too, because records are compared with memcmp() */
  memset(record, 0, sizeof *record);
#define SET_UNKNOWN(id, member, type, record_type, kind, key, column, required, unknown, ...) record->member = unknown;
  HR_JOB_COLUMN_TABLE(SET_UNKNOWN, HR_NO_FIELD)
#undef SET_UNKNOWN
}

static struct hr_text name_text(const struct hr_names *names, uint32_t number) {
  if (number == HR_NONE) return (struct hr_text){NULL, 0};
  return (struct hr_text){names->text[number], strlen(names->text[number])};
}

/* Converts an instant from the clock of the trace to the clock of the input; INT64_MIN if it is unknown. */
static int64_t instant_us(const struct hr_trace *trace, int64_t us) {
  return us == HR_UNKNOWN_US ? INT64_MIN : us + trace->origin_us;
}

void hr_trace_job_record(const struct hr_trace *trace, hr_job job, struct hr_job_record *record, char *id_buffer) {
  const uint32_t at = job.id;
  hr_job_record_init(record);
#define TAKE(id, member, type, record_type, kind, ...)                                                                 \
  if (trace->member)                                                                                                   \
    record->member = HR__##kind == HR__INSTANT ? (record_type)instant_us(trace, (int64_t)trace->member[at])            \
                                               : (record_type)trace->member[at];
#define TAKE_NAME(id, member, kind, key, column, section, set_id, set, ...)                                            \
  if (trace->member) record->member = name_text(&trace->set, trace->member[at]);
  HR_JOB_COLUMN_TABLE(TAKE, TAKE_NAME)
#undef TAKE
#undef TAKE_NAME
  const char *id = hr_trace_job_id(trace, job, id_buffer);
  record->id = (struct hr_text){id, strlen(id)};
}

/* ---- Validation ------------------------------------------------------------------------------------- */

/* Returns the fault of the first value that is out of bounds; NULL if all values are within bounds. */
static const char *bounds_fault(const struct hr_job_record *record) {
#define CHECK(id, member, type, record_type, kind, key, column, required, unknown, min, max, section, fault, ...)      \
  if ((uint64_t)record->member - (uint64_t)(min) > (uint64_t)(max) - (uint64_t)(min) &&                                \
      (required || (uint64_t)record->member != (uint64_t)(unknown)))                                                   \
    return fault;
  HR_JOB_COLUMN_TABLE(CHECK, HR_NO_FIELD)
#undef CHECK
  return NULL;
}

/* Returns true if the name is reserved: reports use it for cost lines that belong to no tenant. */
static bool is_reserved_name(struct hr_text name) {
  static const char *const lines[] = {"(idle)", "(shared)", "(services)"};
  for (size_t i = 0; name.length && name.at[0] == '(' && i < sizeof lines / sizeof *lines; i++)
    if (name.length == strlen(lines[i]) && memcmp(name.at, lines[i], name.length) == 0) return true;
  return false;
}

const char *hr_job_record_fault(const struct hr_job_record *record) {
  if (is_reserved_name(record->tenant)) return "the tenant's name is reserved for cost lines without a tenant";
  const char *fault = bounds_fault(record);
  if (fault) return fault;
  if (record->gpus % record->tasks) return "'gpus', which counts all tasks together, is not a multiple of 'tasks'";
  if (record->min_gpus != HR_NONE && record->min_gpus > record->gpus) return "'min_gpus' is more than 'gpus'";
  if (record->max_gpus < record->gpus) return "'max_gpus' is less than 'gpus'";
  if (record->within == HR_TIER_ANY && record->within_wait_us != HR_UNKNOWN_US)
    return "'within_wait_s' has no effect without 'within'";
  if (record->recorded_start_us != INT64_MIN && record->recorded_start_us < record->submit_us)
    return "the recorded start is before the submit time";
  if (record->deadline_us != INT64_MIN && record->deadline_us < record->submit_us)
    return "the deadline is before the submit time";
  return NULL;
}
