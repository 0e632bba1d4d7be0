/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PYTHON_GLUE_H
#define HR_PYTHON_GLUE_H

/* Additions to the library for the Python package: columns of a trace by name, and policies that decide in Python. */

#include "headroom/headroom.h"
#include "headroom/unstable/capacity.h"

/* ---- Stopped runs ---- */

/* A second thread makes a call of the library, while the main thread waits for signals. `call`: the flags of this call,
   an array of HRPY_CALL_FLAGS atomic_int. hrpy_is_stopped is a callback of struct hr_progress. It returns true if the
   call of the library must end. */
enum { HRPY_CALL_FLAGS = 3 };
bool hrpy_is_stopped(void *call);
/* Returns true the first time it is called for these flags, and false afterwards. The second thread calls it before it
   calls the library: if the result is false, hrpy_call_stop was called before, and the thread must not call the
   library. */
bool hrpy_call_take(void *call);
/* Marks the call as ended. */
void hrpy_call_end(void *call);
/* Stops the call and waits for its end. If the second thread has not begun the call yet, it will never make it. */
void hrpy_call_stop(void *call);

/* ---- Columns of a trace ---- */

/* A column of a trace. If `names` is not NULL, the values of the column are indices into it; otherwise they are
   numbers. The trace owns all memory. */
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
   number with this name, or if the value is out of range for its type. hrpy_set_text returns false if the record has no
   text with this name. The record refers to the text, which is not copied. The id of the job is the text "id". */
bool hrpy_set_number(struct hr_job_record *record, const char *name, int64_t value);
bool hrpy_set_text(struct hr_job_record *record, const char *name, const char *text);

/* ---- Policies in Python ---- */

/* The functions that a policy calls; Python defines them. `number` identifies the policy, `id` a run of the policy.
   They return a status. If an exception is raised, Python stores it. */
struct hrpy_run;
int hrpy_python_create(int64_t number, struct hrpy_run *run, int64_t *id);
void hrpy_python_destroy(int64_t id);
int hrpy_python_observe(int64_t id, const struct hr_view *view, const struct hr_event *event);
int hrpy_python_decide(int64_t id, const struct hr_view *view, struct hr_moves *moves);

/* Creates the operations of a policy, which call Python with `number`. Free them with hrpy_policy_destroy. The name is
   copied. Returns NULL if memory is exhausted. */
const struct hr_policy_ops *hrpy_policy_create(const char *name, int64_t number, uint32_t flags, const char *placement);
void hrpy_policy_destroy(const struct hr_policy_ops *ops);

/* The input of a run of a policy, valid during the run. */
const struct hr_policy_env *hrpy_run_env(const struct hrpy_run *run);
/* Searches for a placement of a waiting job by the rule of the policy, and starts the job there. `*found` is false if
   no placement exists. */
enum hr_status hrpy_start(struct hrpy_run *run, const struct hr_view *view, struct hr_moves *moves, uint32_t job,
                          int reason, bool *found);
/* Stops a running job and requeues it. If `keeps` is true, all its work is kept; otherwise the work since its last
   checkpoint is lost. */
enum hr_status hrpy_stop(struct hrpy_run *run, const struct hr_view *view, struct hr_moves *moves, uint32_t job,
                         bool keeps);
enum hr_status hrpy_reject(struct hr_moves *moves, uint32_t job, int reason);

#endif
