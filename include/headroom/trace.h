/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_TRACE_H
#define HEADROOM_TRACE_H

/*
 * A job trace: immutable columns, one entry per job, sorted by (submit, file order). A column that no row
 * of the input filled is NULL. A trace is built through `struct hr_trace_builder` (by the readers in
 * traces/, or by an embedding program) and may then be shared by any number of runs and threads.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_JOB_CLASS_TABLE(X)                                                                                          \
  X(HR_CLASS_UNKNOWN, "")                                                                                              \
  X(HR_CLASS_TRAINING, "training")                                                                                     \
  X(HR_CLASS_FINE_TUNE, "fine-tune")                                                                                   \
  X(HR_CLASS_BATCH_INFERENCE, "batch-inference")                                                                       \
  X(HR_CLASS_INFERENCE, "inference")                                                                                   \
  X(HR_CLASS_INTERACTIVE, "interactive")                                                                               \
  X(HR_CLASS_DATA_PREP, "data-prep")

enum hr_job_class {
#define HR_CLASS_NAME(name, text) name,
  HR_JOB_CLASS_TABLE(HR_CLASS_NAME)
#undef HR_CLASS_NAME
      HR_N_CLASSES
};

/* How a job ended where the trace was recorded; a replay runs it for its recorded time either way. */
#define HR_OUTCOME_TABLE(X)                                                                                            \
  X(HR_OUTCOME_UNKNOWN, "")                                                                                            \
  X(HR_OUTCOME_COMPLETED, "completed")                                                                                 \
  X(HR_OUTCOME_FAILED, "failed")                                                                                       \
  X(HR_OUTCOME_CANCELLED, "cancelled")

enum hr_outcome {
#define HR_OUTCOME_NAME(name, text) name,
  HR_OUTCOME_TABLE(HR_OUTCOME_NAME)
#undef HR_OUTCOME_NAME
      HR_N_OUTCOMES
};

/* "training", "failed", ...; "" for unknown. */
HR_API const char *hr_job_class_name(enum hr_job_class class_);
HR_API const char *hr_outcome_name(enum hr_outcome outcome);

/* A set of distinct strings, numbered in order of first appearance. */
struct hr_names {
  uint32_t count;
  const char *const *text; /* [count] */
};

struct hr_skipped_rows {
  char *reason;
  uint64_t count;
  uint64_t first_line;
  bool no_fault; /* rows of jobs that there is nothing to replay of, such as one that never ran: left out in any case */
};

struct hr_trace {
  const char *source; /* the file as the user named it */
  const char *format; /* a name of hr_trace_formats, or "memory" */
  uint32_t n_jobs;
  int64_t origin_us; /* the first submit on the input's own clock; add it to times shown to a person */
  bool dated;        /* the input's clock is dates: times are then shown from the first submit */

  /* Always there, [n_jobs]. */
  const int64_t *submit_us; /* from the first submit, which a redrawn trace (workload.h) may lack; never decreasing */
  const int64_t *work_us;   /* true run time */
  const uint32_t *gpus;     /* whole GPUs asked for by the job, all tasks together; 0 for CPU-only work */

  /* NULL where the trace has no such column, [n_jobs] otherwise. */
  const uint32_t *row;         /* place among the input's accepted rows; NULL: rows were sorted already */
  const int64_t *limit_us;     /* what the user asked for; HR_UNKNOWN_US where unknown */
  const int64_t *estimate_us;  /* what a predictor gave; HR_UNKNOWN_US where unknown */
  const int64_t *deadline_us;  /* on the trace's clock; HR_UNKNOWN_US where none */
  const int32_t *priority;     /* higher goes first; 0 where unknown */
  const uint32_t *tasks;       /* workers of the gang; 1 where unknown */
  const uint32_t *cpu_milli;   /* per task; 0 where unknown */
  const uint64_t *mem_mib;     /* per task; 0 where unknown */
  const uint64_t *gpu_mem_mib; /* per GPU; 0 where unknown */
  const uint16_t *gpu_milli;   /* share of each GPU asked for, 1000 for whole GPUs */
  const uint32_t *tenant;      /* index into tenants, HR_NONE where unknown */
  const uint32_t *user;        /* index into users, HR_NONE where unknown */
  const uint32_t *model;       /* index into models, HR_NONE where unknown */
  const uint32_t *gpu_types;   /* index into gpu_type_lists, HR_NONE where any type will do */
  const uint32_t *regions;     /* index into region_lists, HR_NONE where any region will do */
  const uint32_t *mig_profile; /* index into mig_profiles, HR_NONE where none */
  const uint8_t *class_;       /* enum hr_job_class */
  const uint8_t *outcome;      /* enum hr_outcome */
  const uint8_t *flags;        /* HR_JOB_DEDICATED | HR_JOB_NOT_INTERRUPTIBLE */
  const uint32_t *fail_at_ppm; /* fraction of the work at which a failed job failed, in millionths; HR_NONE: unknown */
  const int64_t *checkpoint_interval_us; /* HR_UNKNOWN_US where unknown */
  const uint64_t *checkpoint_mib;        /* 0 where unknown */
  const uint32_t *min_gpus, *max_gpus;   /* elastic bounds; equal to gpus where the job is rigid */
  const uint8_t *within;                 /* enum hr_tier: its GPUs are to be in one group of it; HR_TIER_ANY: none */
  const int64_t *within_wait_us;         /* how long after its submission it waits for such a place, 0: not at all;
                                            HR_UNKNOWN_US: for ever */
  const int64_t *recorded_start_us;      /* when it started where the trace was recorded, on the trace's clock;
                                            HR_UNKNOWN_US where unknown. A replay does not look at it. */

  struct hr_names tenants, users, models, mig_profiles;
  struct hr_names gpu_type_lists; /* each a `|` list as written, e.g. "A100-80|H100" */
  struct hr_names region_lists;   /* likewise */

  /* Ids: as numbers when every id is one (id_number), as text otherwise (id_text), neither when they number the rows
     from 1, as they do where the input has none. Use hr_trace_job_id. */
  const int64_t *id_number;
  const char *const *id_text;
  bool ids_told; /* the input told ids, be they those that number the rows or not */

  struct hr_notes notes;           /* assumptions and unknown columns, for a person */
  struct hr_skipped_rows *skipped; /* rows left out, bad ones under `lenient`, by reason */
  uint32_t n_skipped_reasons;
  uint64_t n_skipped;
  uint64_t column_bytes; /* memory that the columns and names take */
  bool mapped;           /* the columns lie in a file that is mapped, and cost memory only while they are looked at */
};

enum { HR_JOB_DEDICATED = 1, HR_JOB_NOT_INTERRUPTIBLE = 2 };

HR_API void hr_trace_destroy(struct hr_trace *trace);

/* A job's id as text; `buffer` (of at least HR_JOB_ID_BUFFER bytes) is used when the id is a number. */
#define HR_JOB_ID_BUFFER 24
HR_API const char *hr_trace_job_id(const struct hr_trace *trace, hr_job job, char *buffer);

/* GPUs asked for by the job, all tasks together, in thousandths. */
static inline uint64_t hr_trace_gpus_milli(const struct hr_trace *trace, hr_job job) {
  return (uint64_t)trace->gpus[job.id] * (trace->gpu_milli ? trace->gpu_milli[job.id] : 1000);
}

/* The time that the system may hold a job to: its limit, else its true run time. */
static inline int64_t hr_trace_limit_us(const struct hr_trace *trace, hr_job job) {
  int64_t limit_us = trace->limit_us ? trace->limit_us[job.id] : HR_UNKNOWN_US;
  return limit_us >= 0 ? limit_us : trace->work_us[job.id];
}

/* The run time that a scheduler would expect: the estimate, else the limit, else the true run time. */
static inline int64_t hr_trace_estimate_us(const struct hr_trace *trace, hr_job job) {
  int64_t estimate_us = trace->estimate_us ? trace->estimate_us[job.id] : HR_UNKNOWN_US;
  return estimate_us >= 0 ? estimate_us : hr_trace_limit_us(trace, job);
}

/* One job as a reader sees it. hr_job_record_init fills in "unknown" everywhere; strings need not outlive
   the call that takes the record; a NULL or empty string means unknown. */
struct hr_text {
  const char *at;
  size_t length;
};

struct hr_job_record {
  /* What nearly every trace tells. */
  struct hr_text id, user, tenant;
  int64_t submit_us; /* on the input's own clock */
  int64_t work_us;
  uint32_t gpus;
  /* The rest. */
  uint32_t tasks;
  struct hr_text model, gpu_types, regions, mig_profile;
  int64_t limit_us, estimate_us;
  int64_t deadline_us, recorded_start_us; /* on the input's own clock; INT64_MIN for none */
  int64_t checkpoint_interval_us, within_wait_us;
  uint64_t checkpoint_mib, mem_mib, gpu_mem_mib;
  uint32_t min_gpus, max_gpus; /* HR_NONE where the job is rigid */
  uint32_t cpu_milli, gpu_milli, fail_at_ppm;
  int32_t priority;
  uint8_t class_, outcome, flags, within;
};
HR_API void hr_job_record_init(struct hr_job_record *record);
/* What keeps the record from being a job, as a sentence; NULL when nothing does. */
HR_API const char *hr_job_record_fault(const struct hr_job_record *record);
/* A job of a trace as such a record, times on the input's own clock. Texts belong to the trace, but for an id that is a
   number: `id_buffer`, of HR_JOB_ID_BUFFER bytes, holds it. */
HR_API void hr_trace_job_record(const struct hr_trace *trace, hr_job job, struct hr_job_record *record,
                                char *id_buffer);
/* A set of fields from names between commas, "user,model": those of column maps (below), but what every job must tell.
   An unknown one is an error that names the nearest. */
HR_API enum hr_status hr_fields_parse(const char *text, uint64_t *fields, struct hr_error *error);
/* Makes a set of fields unknown; an id, too, may be, where that of all jobs is. */
HR_API void hr_job_record_forget(struct hr_job_record *record, uint64_t fields);

/* Builds a trace row by row. `source` and `format` are copied. NULL when out of memory. */
struct hr_trace_builder;
HR_API struct hr_trace_builder *hr_trace_builder_create(const char *source, const char *format);
HR_API void hr_trace_builder_destroy(struct hr_trace_builder *builder);
/* Notes to hand over with the trace. */
HR_API struct hr_notes *hr_trace_builder_notes(struct hr_trace_builder *builder);
/* Its dates have no zone: what hr_trace_has_local_dates asks. */
HR_API enum hr_status hr_trace_builder_note_local_dates(struct hr_trace_builder *builder);
/* `line`: where the row stands in the file, for errors found later (duplicate ids); lines never decrease. */
HR_API enum hr_status hr_trace_builder_add(struct hr_trace_builder *builder, const struct hr_job_record *record,
                                           uint64_t line, struct hr_error *error);
/* A bad row left out on purpose, counted by reason. */
HR_API enum hr_status hr_trace_builder_skip(struct hr_trace_builder *builder, const char *reason, uint64_t line);
/* Likewise a row that is no fault. */
HR_API enum hr_status hr_trace_builder_leave_out(struct hr_trace_builder *builder, const char *reason, uint64_t line);
/* Sorts, checks that ids are distinct (a duplicate is an error, or skipped under `lenient`), and hands over the
   trace; the builder must still be destroyed. `dated`: the input's clock is dates. Fails when there is no row. */
HR_API enum hr_status hr_trace_builder_finish(struct hr_trace_builder *builder, bool dated, bool lenient,
                                              struct hr_trace **trace, struct hr_error *error);

/* How a CSV file's columns are called: key (a field's name without its unit: "submit", "duration", "gpus",
   "tenant", ...) and the column's name in the file. */
struct hr_column_map {
  struct hr_column_name {
    char *field, *column;
  } * entry;
  size_t count;
};

/* What a column map may name, ended by a NULL name. */
struct hr_trace_field {
  const char *name, *column; /* in a map; in Headroom's own CSV */
  bool must_exist;           /* a job without it cannot be replayed */
};
HR_API const struct hr_trace_field *hr_trace_fields(void);

/* Adds `field` = `column`; an unknown field is an error that names the nearest one. */
HR_API enum hr_status hr_column_map_add(struct hr_column_map *map, const char *field, const char *column,
                                        struct hr_error *error);
/* Adds every entry of `text`, "submit=arrival_s,duration=service_sec". */
HR_API enum hr_status hr_column_map_parse(struct hr_column_map *map, const char *text, struct hr_error *error);
HR_API void hr_column_map_finish(struct hr_column_map *map);

struct hr_trace_format {
  const char *name, *summary;
};
/* The formats that hr_trace_read knows, "auto" first, ended by a NULL name. */
HR_API const struct hr_trace_format *hr_trace_formats(void);
/* The format that `name` names, with its parameters behind a colon if it has some (`azure-llm:decode=50`); NULL when
   there is none of that name. */
HR_API const struct hr_trace_format *hr_trace_format_find(const char *name);

struct hr_trace_options {
  const char *format;              /* NULL or "auto": recognised by content; parameters after a colon */
  const struct hr_column_map *map; /* may be NULL or empty */
  bool lenient;                    /* leave bad rows out, counted by reason, instead of failing at the first */
  bool untimed; /* for who asks only what jobs want: a pod list may leave all times out, its jobs then come at once and
                   take none; and there are no notes on how jobs are replayed */
  /* For a run that is streamed: columns are mapped, not kept in memory, and there are no ids but numbers (jobs are
     called by their rows). A packed trace's come from its file. Rows of text must be in order of submit; their columns
     lie in files without a name in $TMPDIR (/var/tmp), as long as the trace is there. */
  bool streamed;
};

/* Reads a trace, plain, gzip or zstd (recognised by content); `path` "-" is standard input. `options` may be NULL. A
   packed trace is not read but mapped: its columns stay in the file, which must not be written to as long as the trace
   is there (replacing it does no harm), and are checked as rows of other formats are. */
HR_API enum hr_status hr_trace_read(const char *path, const struct hr_trace_options *options, struct hr_trace **trace,
                                    struct hr_error *error);

/* What a packed trace holds: of each section its name ("submit_us", "tenants", ...), entries, bytes and checksum
   (XXH3-64 of those bytes). */
enum { HR_PACKED_NAME_BYTES = 32, HR_PACKED_MOST_SECTIONS = 48 };
struct hr_packed {
  uint32_t n_jobs, n_sections;
  uint64_t bytes; /* of the whole file */
  struct hr_packed_section {
    char name[HR_PACKED_NAME_BYTES];
    uint64_t entries, bytes, checksum;
  } sections[HR_PACKED_MOST_SECTIONS];
};

/* Writes the whole trace to `path` in the packed form (docs/reference/formats.md), whole or not at all; `packed`, if
   not NULL, is filled with what was written. The same trace gives the same bytes. */
HR_API enum hr_status hr_trace_pack(const struct hr_trace *trace, const char *path, struct hr_packed *packed,
                                    struct hr_error *error);
/* The same figures as JSON; `path` "-" is standard output. */
HR_API enum hr_status hr_packed_write_json(const struct hr_packed *packed, const char *path, struct hr_error *error);

/* Reads an ISO 8601 date as traces have them, `2026-11-21`, `2026-11-21T08:30:00.25+01:00`, to microseconds since
   1970-01-01 00:00, in UTC where it has a zone (`*zoned`). False for what is no date. */
HR_API bool hr_date_parse(const char *text, int64_t *us, bool *zoned);
/* Whether the trace's dates have no zone: they are then the clock's that wrote them. */
HR_API bool hr_trace_has_local_dates(const struct hr_trace *trace);

/* What a trace loses on its way into a format. */
#define HR_LOSS_TABLE(X)                                                                                               \
  X(HR_LOSS_DROPPED, "dropped")       /* the format has no place for the field */                                      \
  X(HR_LOSS_ROUNDED, "rounded")       /* to what the format can tell */                                                \
  X(HR_LOSS_RENUMBERED, "renumbered") /* names became numbers from 1, in order of first appearance */                  \
  X(HR_LOSS_LEFT_OUT, "left-out")     /* whole jobs, for what they have in this field */

enum hr_loss_kind {
#define HR_LOSS_NAME(name, text) name,
  HR_LOSS_TABLE(HR_LOSS_NAME)
#undef HR_LOSS_NAME
      HR_N_LOSSES
};
HR_API const char *hr_loss_name(enum hr_loss_kind kind);

struct hr_trace_loss {
  enum hr_loss_kind kind;
  const char *field; /* as in a column map; "dates" where times were dates without a zone and become seconds */
  uint64_t n_jobs;   /* whose value it was */
};

enum { HR_MOST_LOSSES = 64 };
struct hr_trace_written {
  const char *format; /* a name of hr_trace_writers */
  uint32_t n_jobs;
  uint64_t bytes; /* before compression */
  struct hr_trace_loss losses[HR_MOST_LOSSES];
  uint32_t n_losses;
};

/* The formats that hr_trace_write knows, ended by a NULL name. */
HR_API const struct hr_trace_format *hr_trace_writers(void);
/* The one of these that `name` names or, where that is NULL, that a file of this name is in: by its ending, before one
   of compression, in upper or lower case; csv without an ending. NULL, with an error, when there is none of that name,
   or the ending is of no format that is written, or of a compression that the format does not have. */
HR_API const struct hr_trace_format *hr_trace_writer_find(const char *name, const char *path, struct hr_error *error);

/* Writes a trace, whole or not at all; `path` "-" is standard output, and a name that ends in `.gz` or `.zst` is
   compressed. `format` as for hr_trace_writer_find. `written`, if not NULL, tells what was written and what was lost
   (docs/reference/traces.md). Headroom's CSV loses nothing: read again, it is the same trace, row by row. The same
   trace gives the same bytes (before compression). HR_BAD_INPUT, naming the job, for what no file of the format can
   hold at all: in CSV times before 0 or beyond the year 9999. */
HR_API enum hr_status hr_trace_write(const struct hr_trace *trace, const char *path, const char *format,
                                     struct hr_trace_written *written, struct hr_error *error);
/* Finishes what was built and writes it to `path`, in the format that its name says; the builder must still be
   destroyed. */
HR_API enum hr_status hr_trace_builder_write(struct hr_trace_builder *builder, const char *path,
                                             struct hr_error *error);
/* Each loss as a sentence. */
HR_API enum hr_status hr_trace_loss_notes(const struct hr_trace_written *written, struct hr_notes *notes);

/* Reads a node list (openb: sn,cpu_milli,memory_mib,gpu,model) and appends one pool for each distinct kind of
   node, in order of first appearance, and node_order as the list has it; nodes without GPUs are left out and counted in
   `notes`. */
HR_API enum hr_status hr_nodes_read(const char *path, struct hr_cluster_spec *cluster, struct hr_notes *notes,
                                    struct hr_error *error);

/* A generated workload: diurnal Poisson arrivals, log-normal run times, a table of GPU counts, Zipf users. */
struct hr_gpu_count {
  uint32_t gpus;
  double weight;
};
struct hr_generator {
  uint64_t count, seed;
  double load; /* mean GPUs asked for / GPUs of the cluster */
  uint32_t nodes, gpus_per_node;
  double median_s, sigma;      /* run time: log-normal */
  double max_s;                /* longest run time; 0: none. The load accounts for the cut. */
  double limit_min, limit_max; /* limit = run time x uniform in [min, max]; both 0: no limit column */
  double diurnal;              /* amplitude of the daily wave, 0 (flat) to 1 */
  uint32_t users, tenants;     /* user popularity is Zipf with exponent 1; user u belongs to tenant u mod tenants */
  const struct hr_gpu_count *gpu_counts; /* NULL: the default table */
  size_t n_gpu_counts;
};
HR_API void hr_generator_init(struct hr_generator *generator);
/* What a file of this name can be filled with job by job: Headroom's CSV, and not compressed. Else jobs are gathered,
   as for packed files. HR_BAD_INPUT for an ending that hr_trace_writer_find does not know, and for SWF, which may lose
   what was drawn. */
HR_API enum hr_status hr_generated_file(const char *path, bool *job_by_job, struct hr_error *error);
/* Writes the jobs to `path` ("-": standard output), whole or not at all, as Headroom's CSV, compressed behind `.gz` and
   `.zst`, or packed where the name ends in `.hrt`; but for plain CSV, all are held in memory. The same generator gives
   the same bytes. */
HR_API enum hr_status hr_generate(const struct hr_generator *generator, const char *path, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
