/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_TRACE_FILES_H
#define HEADROOM_TRACE_FILES_H

/*
 * Reading, building, writing and generating traces: job records, the builder, formats, column maps, packed files,
 * redrawn workloads.
 */

#include "headroom/base.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Frees a trace and its columns. NULL is accepted. */
HR_API void hr_trace_destroy(struct hr_trace *trace);

/* One job as input. hr_job_record_init sets all fields to unknown. Strings need not outlive the call that takes the
   record; NULL or empty means unknown. */
struct hr_text {
  const char *at;
  size_t length;
};

struct hr_job_record {
  /* Fields that nearly every trace has. */
  struct hr_text id, user, tenant;
  int64_t submit_us; /* on the input's clock */
  int64_t work_us;
  uint32_t gpus;
  /* Other fields. */
  uint32_t tasks;
  struct hr_text model, gpu_types, regions, mig_profile;
  int64_t limit_us, estimate_us;
  int64_t deadline_us, recorded_start_us; /* on the input's clock; INT64_MIN: none */
  int64_t checkpoint_interval_us, within_wait_us;
  uint64_t checkpoint_mib, mem_mib, gpu_mem_mib;
  uint32_t min_gpus, max_gpus; /* HR_NONE: the job is rigid */
  uint32_t cpu_milli, gpu_milli, fail_at_ppm;
  int32_t priority;
  uint8_t class_, outcome, flags, within;
};
HR_API void hr_job_record_init(struct hr_job_record *record);
/* Why the record is not a valid job, as a sentence; NULL if it is valid. */
HR_API const char *hr_job_record_fault(const struct hr_job_record *record);
/* The record of a job in a trace, with times on the input's clock. Strings belong to the trace, except an id that is
   a number: it is in `id_buffer`, of HR_JOB_ID_BUFFER bytes. */
HR_API void hr_trace_job_record(const struct hr_trace *trace, hr_job job, struct hr_job_record *record,
                                char *id_buffer);
/* Parses a set of fields, "user,model": names as in column maps (below) except those of mandatory fields.
   HR_BAD_INPUT suggests the nearest name. */
HR_API enum hr_status hr_fields_parse(const char *text, uint64_t *fields, struct hr_error *error);
/* Sets fields to unknown. The id may be among them if it is made unknown for all jobs. */
HR_API void hr_job_record_forget(struct hr_job_record *record, uint64_t fields);

/* Builds a trace row by row. `source` and `format` are copied. NULL if memory is exhausted. */
struct hr_trace_builder;
HR_API struct hr_trace_builder *hr_trace_builder_create(const char *source, const char *format);
HR_API void hr_trace_builder_destroy(struct hr_trace_builder *builder);
/* The notes of the trace. */
HR_API struct hr_notes *hr_trace_builder_notes(struct hr_trace_builder *builder);
/* Records that its dates have no time zone (hr_trace_has_local_dates). */
HR_API enum hr_status hr_trace_builder_note_local_dates(struct hr_trace_builder *builder);
/* Adds a job. `line`: its line in the file, for later errors such as duplicate ids; ascending. */
HR_API enum hr_status hr_trace_builder_add(struct hr_trace_builder *builder, const struct hr_job_record *record,
                                           uint64_t line, struct hr_error *error);
/* Counts an invalid row that is left out, by reason. */
HR_API enum hr_status hr_trace_builder_skip(struct hr_trace_builder *builder, const char *reason, uint64_t line);
/* Counts a valid row that is left out, by reason. */
HR_API enum hr_status hr_trace_builder_leave_out(struct hr_trace_builder *builder, const char *reason, uint64_t line);
/* Sorts the jobs, checks that ids are distinct (a duplicate is an error, or left out if `lenient`), and returns the
   trace; the builder must still be destroyed. `dated`: the input's clock is dates. HR_BAD_INPUT without rows. */
HR_API enum hr_status hr_trace_builder_finish(struct hr_trace_builder *builder, bool dated, bool lenient,
                                              struct hr_trace **trace, struct hr_error *error);

/* The columns of a CSV file: field ("submit", "duration", "gpus", "tenant", ...) and the name of its column. */
struct hr_column_map {
  struct hr_column_name {
    char *field, *column;
  } * entry;
  size_t count;
};

/* The fields that a column map can name, terminated by a NULL name. */
struct hr_trace_field {
  const char *name, *column; /* in a map; in Headroom's own CSV */
  bool must_exist;           /* a job without it cannot be replayed */
};

/* All fields, terminated by a NULL name. */
HR_API const struct hr_trace_field *hr_trace_fields(void);

/* Adds `field` = `column`. HR_BAD_INPUT for an unknown field suggests the nearest one. */
HR_API enum hr_status hr_column_map_add(struct hr_column_map *map, const char *field, const char *column,
                                        struct hr_error *error);
/* Adds all entries of `text`, "submit=arrival_s,duration=service_sec". */
HR_API enum hr_status hr_column_map_parse(struct hr_column_map *map, const char *text, struct hr_error *error);
/* Frees the entries. */
HR_API void hr_column_map_finish(struct hr_column_map *map);

struct hr_trace_format {
  const char *name, *summary;
};
/* The formats of hr_trace_read, "auto" first, terminated by a NULL name. */
HR_API const struct hr_trace_format *hr_trace_formats(void);
/* Finds a format by its name, with parameters after a colon if it has any (`azure-llm:decode=50`); NULL if there is
   none. */
HR_API const struct hr_trace_format *hr_trace_format_find(const char *name);

struct hr_trace_options {
  const char *format;              /* NULL or "auto": recognised by content; parameters after a colon */
  const struct hr_column_map *map; /* may be NULL or empty */
  bool lenient;                    /* leave invalid rows out, counted by reason, instead of failing at the first one */
  /* only the requests of jobs matter: times may be missing in a pod list, its jobs then come at once and take no
     time; and notes on the replay are omitted */
  bool untimed;
  /* For a streamed run: columns are mapped files, and ids other than numbers are not stored (jobs are then named by
     their rows). The columns of a packed trace are in its file. Text rows must be sorted by submit; their columns
     are in unnamed files in $TMPDIR (or /var/tmp) that live as long as the trace. */
  bool streamed;
};

/* Reads a trace, plain or compressed with gzip or zstd (recognised by content); `path` "-" is standard input.
   `options` may be NULL. A packed trace is mapped: its columns stay in the file, which must not be modified while
   the trace exists (it may be replaced), and are validated like rows of other formats. The caller destroys `*trace`.
   HR_BAD_INPUT with file and line, HR_IO_ERROR, HR_NO_MEMORY. */
HR_API enum hr_status hr_trace_read(const char *path, const struct hr_trace_options *options, struct hr_trace **trace,
                                    struct hr_error *error);

/* The contents of a packed trace: name ("submit_us", "tenants", ...), entries, bytes and checksum (XXH3-64 of the
   bytes) of each section. */
enum { HR_PACKED_NAME_BYTES = 32, HR_PACKED_MAX_SECTIONS = 48 };
struct hr_packed {
  uint32_t n_jobs, n_sections;
  uint64_t bytes; /* of the whole file */
  struct hr_packed_section {
    char name[HR_PACKED_NAME_BYTES];
    uint64_t entries, bytes, checksum;
  } sections[HR_PACKED_MAX_SECTIONS];
};

/* Writes a trace to `path` in packed form (docs/reference/formats.md), completely or not at all. `packed` (may be
   NULL) is set to the figures of the packed file. The same trace gives the same bytes. */
HR_API enum hr_status hr_trace_pack(const struct hr_trace *trace, const char *path, struct hr_packed *packed,
                                    struct hr_error *error);
/* Writes these figures as JSON; `path` "-" is standard output. */
HR_API enum hr_status hr_packed_write_json(const struct hr_packed *packed, const char *path, struct hr_error *error);

/* Whether the trace's dates have no zone, so that they are on an unknown local clock. */
HR_API bool hr_trace_has_local_dates(const struct hr_trace *trace);

/* The data lost when a trace is written in a format. */
#define HR_LOSS_TABLE(X)                                                                                               \
  X(HR_LOSS_DROPPED, "dropped")       /* the format has no such field */                                               \
  X(HR_LOSS_ROUNDED, "rounded")       /* to the precision of the format */                                             \
  X(HR_LOSS_RENUMBERED, "renumbered") /* names became numbers from 1, in the order of first appearance */              \
  X(HR_LOSS_LEFT_OUT, "left-out")     /* jobs that the format cannot represent, because of this field */

enum hr_loss_kind {
#define HR_LOSS_NAME(name, text) name,
  HR_LOSS_TABLE(HR_LOSS_NAME)
#undef HR_LOSS_NAME
      HR_N_LOSSES
};

/* The name in files. */
HR_API const char *hr_loss_name(enum hr_loss_kind kind);

struct hr_trace_loss {
  enum hr_loss_kind kind;
  const char *field; /* as in a column map; "dates" if dates without a zone became seconds */
  uint64_t n_jobs;   /* jobs with a value in it */
};

enum { HR_MAX_LOSSES = 64 };
struct hr_trace_written {
  const char *format; /* "csv", "swf" or "packed" */
  uint32_t n_jobs;
  uint64_t bytes; /* before compression */
  struct hr_trace_loss losses[HR_MAX_LOSSES];
  uint32_t n_losses;
};

/* Finds a format by name or, if `name` is NULL, by the extension of `path`, before that of a compression, ignoring
   case; csv without an extension. NULL, with an error, if there is none of that name, if the extension is not of a
   format that can be written, or if the format does not support that compression. */
HR_API const struct hr_trace_format *hr_trace_writer_find(const char *name, const char *path, struct hr_error *error);

/* Writes a trace, completely or not at all. `path` "-" is standard output; a name that ends in `.gz` or `.zst` is
   compressed. `format` as for hr_trace_writer_find. `written` (may be NULL) reports what was written and what was
   lost (docs/reference/traces.md). Headroom's CSV loses nothing: read again, it is the same trace. The same trace
   gives the same bytes (before compression). HR_BAD_INPUT, naming the job, for values that no file of the format can
   represent: in CSV, times before 0 or after the year 9999. */
HR_API enum hr_status hr_trace_write(const struct hr_trace *trace, const char *path, const char *format,
                                     struct hr_trace_written *written, struct hr_error *error);
/* Adds a note for each loss. */
HR_API enum hr_status hr_trace_loss_notes(const struct hr_trace_written *written, struct hr_notes *notes);

/* Reads a node list (openb: sn,cpu_milli,memory_mib,gpu,model). Appends one pool per distinct kind of node, in the
   order of first appearance, and sets node_order to the order of the list. Nodes without GPUs are left out and
   counted in `notes`. */
HR_API enum hr_status hr_nodes_read(const char *path, struct hr_cluster_spec *cluster, struct hr_notes *notes,
                                    struct hr_error *error);

/* A synthetic workload: diurnal Poisson arrivals, log-normal run times, a table of GPU counts, Zipf users. */
struct hr_gpu_count {
  uint32_t gpus;
  double weight;
};
struct hr_generator {
  uint64_t count, seed;
  double load; /* mean GPUs requested / GPUs of the cluster */
  uint32_t nodes, gpus_per_node;
  double median_s, sigma;      /* log-normal run time: median in seconds, standard deviation of the logarithm */
  double max_s;                /* maximum run time in seconds; 0: none. The load takes it into account */
  double limit_min, limit_max; /* limit = run time x uniform in [min, max]; both 0: no limit column */
  double diurnal;              /* amplitude of the daily wave, 0 (flat) to 1 */
  uint32_t users, tenants;     /* user popularity is Zipf with exponent 1; user u belongs to tenant u mod tenants */
  const struct hr_gpu_count *gpu_counts; /* NULL: the default table */
  size_t n_gpu_counts;
};

/* Sets the defaults. */
HR_API void hr_generator_init(struct hr_generator *generator);
/* Whether a file of this name is written job by job (`*job_by_job`): uncompressed CSV. Otherwise all jobs are
   gathered first. HR_BAD_INPUT for extensions that hr_trace_writer_find does not know, and for SWF, which cannot
   represent all values. */
HR_API enum hr_status hr_generated_file(const char *path, bool *job_by_job, struct hr_error *error);
/* Writes the jobs to `path` ("-": standard output), completely or not at all, as Headroom's CSV, compressed for
   `.gz` and `.zst`, or packed for `.hrt`. All jobs are held in memory except for plain CSV. The same generator gives
   the same bytes. */
HR_API enum hr_status hr_generate(const struct hr_generator *generator, const char *path, struct hr_error *error);

/*
 * ---- Redrawn workloads: other weeks that could have been, and growth (docs/researcher/workload.md) ----
 *
 * The clock is the trace's: time 0 is its first submit. Blocks are whole days (86,400 s) or weeks, cut from the first
 * submit; if the trace is `dated`, at midnights of the clock that wrote it (UTC if its dates have zones), weeks from
 * the midnight of its first whole day. A block is whole if the trace lacks at most an hour of it, since first and last
 * submits are slightly within the recorded time.
 *
 * The redrawn workload is divided into positions 0, 1, ... in the same way. Each position is filled with one whole
 * block, drawn uniformly with replacement. Jobs before time 0 (of a dated trace that does not begin at midnight) and
 * jobs after the end of the workload are left out. If the trace has 14 whole days, days retain their weekday: a
 * position takes a day with the same number modulo 7.
 *
 * Sources: the block bootstrap (Kuensch, Ann. Stat. 17, 1989), with blocks of whole seasonal periods (Politis 2001;
 * Chan, Lahiri and Meeker, Technometrics 46, 2004); thinning (Lewis and Shedler 1979).
 */

#define HR_BLOCKS_TABLE(X)                                                                                             \
  X(HR_BLOCKS_NONE, "none")                                                                                            \
  X(HR_BLOCKS_DAYS, "days")                                                                                            \
  X(HR_BLOCKS_WEEKS, "weeks")

/* The blocks to draw. HR_BLOCKS_NONE: the trace in its order. */
enum hr_blocks {
#define HR_BLOCKS_NAME(name, text) name,
  HR_BLOCKS_TABLE(HR_BLOCKS_NAME)
#undef HR_BLOCKS_NAME
      HR_N_BLOCKS
};

/* The name as users type it. */
HR_API const char *hr_blocks_name(enum hr_blocks blocks);

/* The maximum of growth times a factor. */
#define HR_MAX_GROWTH 1000

struct hr_workload_spec {
  enum hr_blocks blocks;
  double growth; /* demand relative to the trace, above 0; 1: as recorded */
  /* of the redrawn workload: all its jobs are submitted before it; 0: that of the trace including its last job.
     Without blocks, at most that of the trace */
  int64_t length_us;
  /* Growth by series and position, multiplied with `growth`: factors[series * n_positions + position], each at least
     0. NULL: 1. Borrowed. */
  /* [n_jobs of the trace]: the series of each job; HR_NONE: none, with factor 1. NULL: all jobs are of series 0 */
  const uint32_t *series;
  const double *factors;
  uint32_t n_series, n_positions; /* of `factors`; at least as many positions as the workload has */
};
/* Defaults: no blocks, growth 1, the length of the trace, no factors: the trace as recorded. */
HR_API void hr_workload_spec_init(struct hr_workload_spec *spec);

/* How a trace and the workload drawn from it are divided. Block b, like position b, begins at start_us + b *
   block_us. */
struct hr_workload_cut {
  int64_t start_us; /* at most 0 */
  int64_t block_us;
  int64_t length_us;             /* of the workload */
  uint32_t n_positions;          /* of the workload; the first and the last one may be partial */
  uint32_t first_whole, n_whole; /* the whole blocks of the trace */
  bool keeps_weekdays;
};
/* Divides a trace. Without blocks, the division is that of the additional layers of growth and of the positions of
   factors: weeks if the trace has two whole ones, else days, else the trace as one block (n_whole 1). HR_BAD_INPUT,
   with what would be possible, if a trace has fewer than two whole blocks of the requested kind, or the length is
   out of range. */
HR_API enum hr_status hr_trace_cut(const struct hr_trace *trace, const struct hr_workload_spec *spec,
                                   struct hr_workload_cut *cut, struct hr_error *error);

/*
 * Draws a workload. A growth g of a job at a position (`growth` times its factor) consists of layers 0, 1, ...: a layer
 * is complete if g exceeds its number by at least 1; otherwise each of its jobs is kept with the probability by which g
 * exceeds its number. Each layer draws its own blocks. Without blocks, layer 0 is the trace in its order; further
 * layers of a trace that is too short for blocks are the trace rotated by a random time modulo its length.
 *
 * Jobs retain everything except their submit, with which their deadlines move, and their ids: they are numbered from 1
 * in the order of (submit, layer, position in the trace). The draw of a block depends on (seed, position, layer) only,
 * that of a job on (seed, job, position, layer) only, so under one seed the jobs of a smaller growth are a subset of
 * those of a larger one.
 *
 * The caller destroys `*drawn`, which borrows the names of `trace` (tenants, models, source, ...); `trace` must outlive
 * it and has the notes and skipped rows. HR_BAD_INPUT for a workload without jobs. NULL on failure.
 */
HR_API enum hr_status hr_trace_redraw(const struct hr_trace *trace, const struct hr_workload_spec *spec, uint64_t seed,
                                      struct hr_trace **drawn, struct hr_error *error);

/* Draws a workload of `count` jobs, at least 1: the first ones of a workload that is long enough, whatever the length
   of `spec`, which has blocks and no factors. A larger count begins with the same jobs. HR_BAD_INPUT also if so many
   jobs would take longer than a workload can be. */
HR_API enum hr_status hr_trace_redraw_count(const struct hr_trace *trace, const struct hr_workload_spec *spec,
                                            uint64_t seed, uint32_t count, struct hr_trace **drawn,
                                            struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
