/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PYTHON_GLUE_H
#define HR_PYTHON_GLUE_H

/* Additions to the library for the Python package: columns of a trace by name, and policies that decide in Python. */

#include "headroom/headroom.h"
#include "headroom/unstable/capacity.h"

/* ---- Stopped runs ---- */

/* `call`: HRPY_CALL_FLAGS flags, atomic_int, of a call that a second thread makes. hrpy_is_stopped is a callback of
   struct hr_progress: whether the call must end. */
enum { HRPY_CALL_FLAGS = 3 };
bool hrpy_is_stopped(void *call);
/* Returns true for the first caller: the second thread, which then makes the call, or hrpy_call_stop. */
bool hrpy_call_take(void *call);
/* The call has ended. */
void hrpy_call_end(void *call);
/* Stops the call and waits for its end. If the second thread has not begun it, it will not. */
void hrpy_call_stop(void *call);

/* ---- Columns of a trace ---- */

/* A column of a trace. `names`: the texts that the values of the column are indices of; NULL: the values are numbers.
   Everything belongs to the trace. */
struct hrpy_column {
  const char *name; /* of the member of struct hr_trace, with its unit */
  const void *at;
  uint32_t width; /* of a value, in bytes */
  bool is_signed;
  const struct hr_names *names;
};
enum { HRPY_MAX_COLUMNS = 64 };
/* Sets `columns` to the columns that the trace has, and returns their number. */
uint32_t hrpy_columns(const struct hr_trace *trace, struct hrpy_column columns[HRPY_MAX_COLUMNS]);

/* ---- Jobs of a new trace ---- */

/* A column of Headroom's CSV, from the table of headroom/job_fields.h. */
struct hrpy_field {
  const char *column, *member; /* member: of struct hr_job_record */
  const char *kind;            /* how the value is written, such as "DURATION" or "GIB" */
  uint32_t flag;               /* of a column of truth values: its bit in `member`; otherwise 0 */
};
/* Sets `fields` to the columns, and returns their number. */
uint32_t hrpy_fields(struct hrpy_field fields[HRPY_MAX_COLUMNS]);

/* Sets a field of a record by its name in struct hr_job_record. hrpy_set_number returns false if the record has no
   number with this name, or if its type cannot hold the value; hrpy_set_text if it has no such text. The text is
   borrowed. The id of the job is the text "id". */
bool hrpy_set_number(struct hr_job_record *record, const char *name, int64_t value);
bool hrpy_set_text(struct hr_job_record *record, const char *name, const char *text);

/* ---- Policies in Python ---- */

/* The functions of Python that a policy calls. `number` is that of the policy, `run` that of a run of it. They return
   a status; an exception is kept by Python. Python defines them. */
struct hrpy_run;
int hrpy_python_create(int64_t number, struct hrpy_run *run, int64_t *id);
void hrpy_python_destroy(int64_t id);
int hrpy_python_observe(int64_t id, const struct hr_view *view, const struct hr_event *event);
int hrpy_python_decide(int64_t id, const struct hr_view *view, struct hr_moves *moves);

/* Creates the operations of a policy, which are freed with hrpy_policy_destroy. They call Python with `number`. The
   name is copied. NULL: out of memory. */
const struct hr_policy_ops *hrpy_policy_create(const char *name, int64_t number, uint32_t flags, const char *placement);
void hrpy_policy_destroy(const struct hr_policy_ops *ops);

/* The input of a run of a policy, valid during the run. */
const struct hr_policy_env *hrpy_run_env(const struct hrpy_run *run);
/* Searches for a placement of a waiting job by the rule of the policy, and starts the job there. `*found` is false if
   no placement exists. */
enum hr_status hrpy_start(struct hrpy_run *run, const struct hr_view *view, struct hr_moves *moves, uint32_t job,
                          int reason, bool *found);
/* Stops a running job, which waits again. `keeps`: all its work is kept; otherwise that since its last checkpoint is
   lost. */
enum hr_status hrpy_stop(struct hrpy_run *run, const struct hr_view *view, struct hr_moves *moves, uint32_t job,
                         bool keeps);
enum hr_status hrpy_reject(struct hr_moves *moves, uint32_t job, int reason);

#endif
