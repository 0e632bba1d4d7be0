/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_TRACE_FILES_H
#define HEADROOM_TRACE_FILES_H

/* Building, reading and writing traces: job records, the builder, formats, column maps, packed files, generated
   workloads. */

#include "headroom/base.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Frees a trace and its columns; NULL is accepted. */
HR_API void hr_trace_destroy(struct hr_trace *trace);

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

/*
 * Workloads drawn from a recorded trace: other weeks that could have been, and growth. docs/researcher/workload.md
 * defines them.
 *
 * The clock stays the trace's: time 0 is its first submit. Blocks are whole days (86,400 s) or weeks. They are cut from
 * the first submit; where the trace is `dated`, at midnights of the clock that wrote it (UTC where its dates have
 * zones), weeks from the midnight of its first whole day on. A block is whole where the trace lacks no more than an
 * hour of it: first and last submits come a little within the time that was recorded.
 *
 * The drawn workload is cut likewise into positions 0, 1, ..., each of which is filled with one whole block, drawn
 * uniformly with replacement. What of a position lies before time 0 (of a dated trace that does not begin at midnight)
 * or not before the workload's end is left out. Days keep their weekday where the trace has 14 whole ones: a position
 * takes a day whose number is its own modulo 7.
 *
 * Source: the block bootstrap (Kuensch, Ann. Stat. 17, 1989), with blocks of whole seasonal periods (Politis 2001;
 * Chan, Lahiri and Meeker, Technometrics 46, 2004); thinning (Lewis and Shedler 1979).
 */

#define HR_BLOCKS_TABLE(X)                                                                                             \
  X(HR_BLOCKS_NONE, "none")                                                                                            \
  X(HR_BLOCKS_DAYS, "days")                                                                                            \
  X(HR_BLOCKS_WEEKS, "weeks")

/* What is drawn. HR_BLOCKS_NONE: the trace stays in its order. */
enum hr_blocks {
#define HR_BLOCKS_NAME(name, text) name,
  HR_BLOCKS_TABLE(HR_BLOCKS_NAME)
#undef HR_BLOCKS_NAME
      HR_N_BLOCKS
};
HR_API const char *hr_blocks_name(enum hr_blocks blocks);

/* The most that growth times a factor may be. */
#define HR_MAX_GROWTH 1000

struct hr_workload_spec {
  enum hr_blocks blocks;
  double growth;     /* demand for that of the trace, above 0; 1: as recorded */
  int64_t length_us; /* of the drawn workload, whose jobs come before it; 0: that of the trace, its last job included.
                        Without blocks not longer than the trace. */
  /* Growth by series and position: factors[series * n_positions + position], each at least 0, multiplied with
     `growth`. NULL: 1. Borrowed. */
  const uint32_t *series; /* [n_jobs of the trace] which series a job is of, HR_NONE: none, its factor is 1. NULL: all
                             jobs are of series 0 */
  const double *factors;
  uint32_t n_series, n_positions; /* of `factors`; there may be more positions than the workload has, not fewer */
};
/* No blocks, growth 1, the trace's length, no factors: the trace as it is. */
HR_API void hr_workload_spec_init(struct hr_workload_spec *spec);

/* How a trace and the workload drawn from it are cut. Block b, like position b, is from start_us + b * block_us to
   block_us later. */
struct hr_workload_cut {
  int64_t start_us; /* at most 0 */
  int64_t block_us;
  int64_t length_us;             /* of the workload */
  uint32_t n_positions;          /* that the workload has, the first and the last perhaps in part */
  uint32_t first_whole, n_whole; /* the trace's whole blocks */
  bool keeps_weekdays;
};
/* Without blocks the cut is what further layers of growth are drawn from (and what positions of factors are): weeks
   where the trace has two whole ones, else days, else, of n_whole 1, the trace as one block. HR_BAD_INPUT, with what
   would do, where a trace has fewer than two whole blocks of the kind wanted, or the length is out of range. */
HR_API enum hr_status hr_trace_cut(const struct hr_trace *trace, const struct hr_workload_spec *spec,
                                   struct hr_workload_cut *cut, struct hr_error *error);

/*
 * Draws a workload. A growth g of a job at a position (`growth` times its factor) is made of layers: layer 0, 1, ... is
 * there whole where g is that much and 1 more, thinned to what g is above it otherwise: each job is kept with that
 * probability by itself. Each layer draws its own blocks; without blocks layer 0 is the trace in its order, and further
 * ones of a trace that is too short for blocks are turns of it, by a drawn time modulo its length.
 *
 * Jobs keep everything but their submit, with which their deadlines move, and their ids: they are numbered from 1 in
 * order of (submit, layer, place in the trace). A block's draw depends on (seed, position, layer) alone, a job's fate
 * on (seed, job, position, layer) alone: under one seed the jobs of a smaller growth are among those of a larger one.
 *
 * `*drawn` is to be destroyed, and borrows the names of `trace` (tenants, models, source, ...), which must outlive it.
 * Notes and skipped rows are told by `trace` alone. A workload without any job is an error. NULL on failure.
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
