/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_TRACE_FILES_H
#define HEADROOM_TRACE_FILES_H

/*
 * Functions that read, build, write and generate traces: job records, the trace builder, column maps, file formats,
 * packed files, the workload generator and redrawn workloads. hr_nodes_read reads a list of nodes.
 */

#include "headroom/base.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Frees a trace and its columns. NULL is accepted. */
HR_API void hr_trace_destroy(struct hr_trace *trace);

/* A string of `length` bytes that need not end with a NUL. `at` NULL or `length` 0: unknown. */
struct hr_text {
  const char *at;
  size_t length;
};

/* One job as input of a trace. The members, their units and their values for "unknown" are in headroom/job_fields.h.
   Instants are on the input's clock. Strings need only be valid during the call to which the record is passed. */
struct hr_job_record {
#define HR_RECORD_ID(...) struct hr_text id;
#define HR_RECORD_VALUE(id, member, type, record_type, ...) record_type member;
#define HR_RECORD_NAME(id, member, ...) struct hr_text member;
  HR_JOB_FIELD_TABLE(HR_RECORD_ID, HR_RECORD_VALUE, HR_RECORD_NAME, HR_RECORD_VALUE, HR_NO_FIELD)
#undef HR_RECORD_ID
#undef HR_RECORD_VALUE
#undef HR_RECORD_NAME
};
/* Sets all members to unknown. */
HR_API void hr_job_record_init(struct hr_job_record *record);
/* Returns why a record is not a valid job, as a part of a sentence; NULL if the record is valid. */
HR_API const char *hr_job_record_fault(const struct hr_job_record *record);
/* Sets `*record` to the record of a job in a trace, with times on the input's clock. Its strings belong to the trace.
   An id that is a number is written to `id_buffer`, which has at least HR_JOB_ID_BUFFER bytes. */
HR_API void hr_trace_job_record(const struct hr_trace *trace, hr_job job, struct hr_job_record *record,
                                char *id_buffer);
/* Parses a list of fields such as "user,model" and sets `*fields` to the set of these fields. Names are those of column
   maps (below). Returns HR_BAD_INPUT for unknown names, with a suggestion in `error`, and for mandatory fields. */
HR_API enum hr_status hr_fields_parse(const char *text, uint64_t *fields, struct hr_error *error);
/* Sets all members of the record that are in the set `fields` to unknown. If the set contains the id, the caller must
   do this for all jobs of the trace, because either all jobs or none have an id. */
HR_API void hr_job_record_forget(struct hr_job_record *record, uint64_t fields);

/* Builds a trace job by job. */
struct hr_trace_builder;
/* Creates a builder. `source` and `format` (see struct hr_trace) are copied. Returns NULL if memory is exhausted. */
HR_API struct hr_trace_builder *hr_trace_builder_create(const char *source, const char *format);
/* Frees a builder, but not the trace that it has finished. NULL is accepted. */
HR_API void hr_trace_builder_destroy(struct hr_trace_builder *builder);
/* Returns the notes of the future trace, to which the caller may add notes. */
HR_API struct hr_notes *hr_trace_builder_notes(struct hr_trace_builder *builder);
/* Records that the dates of the trace have no time zone, see hr_trace_has_local_dates. */
HR_API enum hr_status hr_trace_builder_note_local_dates(struct hr_trace_builder *builder);
/* Adds a job. `line` is the line of the job in the file, for errors that are found later, such as duplicate ids. Lines
   must be ascending. Returns HR_BAD_INPUT if the record is not a valid job, or if some jobs have an id and others do
   not. */
HR_API enum hr_status hr_trace_builder_add(struct hr_trace_builder *builder, const struct hr_job_record *record,
                                           uint64_t line, struct hr_error *error);
/* Counts an invalid row that is left out for `reason`. `line` is its line in the file. */
HR_API enum hr_status hr_trace_builder_skip(struct hr_trace_builder *builder, const char *reason, uint64_t line);
/* Counts a valid row that is left out for `reason`. `line` is its line in the file. */
HR_API enum hr_status hr_trace_builder_leave_out(struct hr_trace_builder *builder, const char *reason, uint64_t line);
/* Sorts the jobs, checks that ids are distinct, and sets `*trace`. A duplicate id is an error; with `lenient`, the
   later job with this id is left out instead. `dated`: the input's clock consists of dates. The caller frees `*trace`
   with hr_trace_destroy, and must still destroy the builder. Returns HR_BAD_INPUT for a duplicate id, and if no job was
   added. */
HR_API enum hr_status hr_trace_builder_finish(struct hr_trace_builder *builder, bool dated, bool lenient,
                                              struct hr_trace **trace, struct hr_error *error);

/* Sets `*trace` to a trace without jobs, for scenarios that have only services. The caller frees `*trace` with
   hr_trace_destroy. */
HR_API enum hr_status hr_trace_empty(const char *source, struct hr_trace **trace, struct hr_error *error);

/* A column map: for each field, the name of the column that contains it. A map with all members 0 is empty. A field is
   a key such as "submit", "duration", "gpus" or "tenant". If a map has an entry for "queue" but none for "tenant", the
   column of "queue" is used for the tenant.

   An entry with a pattern is a rule for the field "class" or "tenant". If the value of `column` matches the POSIX
   extended regular expression `pattern`, the field has the value `value`. If several rules match a job, the first of
   them applies. Rules override the column of the field. */
struct hr_column_map {
  struct hr_column_name {
    char *field, *column;
    char *value, *pattern; /* of a rule; `pattern` is NULL for all other entries */
  } * entry;
  size_t count;
};

/* A field that a column map can contain. */
struct hr_trace_field {
  const char *name, *column; /* name: in column maps; column: name of the column in Headroom's own CSV format */
  bool must_exist;           /* the field is mandatory, because a job without it cannot be replayed */
};

/* Returns all fields, terminated by a NULL name. */
HR_API const struct hr_trace_field *hr_trace_fields(void);

/* Sets the column of a field. Returns HR_BAD_INPUT for an unknown field, with a suggestion in `error`, and for an empty
   column name. */
HR_API enum hr_status hr_column_map_add(struct hr_column_map *map, const char *field, const char *column,
                                        struct hr_error *error);
/* Adds a copy of an entry of another map. An entry that is not a rule replaces the entry of the same field. */
HR_API enum hr_status hr_column_map_add_entry(struct hr_column_map *map, const struct hr_column_name *entry,
                                              struct hr_error *error);
/* Adds a rule from a text VALUE=COLUMN~PATTERN, such as "interactive=JobName~^(jupyter|vscode)". The field is "class",
   "tenant", or "queue", which means "tenant" here. Returns HR_BAD_INPUT for any other field, if the text does not have
   this form, if the pattern is invalid, or if the field is "class" and the value is not a class. */
HR_API enum hr_status hr_column_map_add_rule(struct hr_column_map *map, const char *field, const char *text,
                                             struct hr_error *error);
/* Adds all entries of a text such as "submit=arrival_s,duration=service_sec". Returns HR_BAD_INPUT if the text does not
   have this form, for the errors of hr_column_map_add, and if the text sets a field twice. */
HR_API enum hr_status hr_column_map_parse(struct hr_column_map *map, const char *text, struct hr_error *error);
/* Frees the entries. The map is empty afterwards. */
HR_API void hr_column_map_finish(struct hr_column_map *map);

/* A file format: its name and a one-line description. */
struct hr_trace_format {
  const char *name, *summary;
};
/* Returns the formats of hr_trace_read, "auto" first, terminated by a NULL name. */
HR_API const struct hr_trace_format *hr_trace_formats(void);
/* Finds a format by its name. The name may be followed by parameters after a colon (`azure-llm:decode=50`). Returns
   NULL if no format has the name. */
HR_API const struct hr_trace_format *hr_trace_format_find(const char *name);

/* Options of hr_trace_read. With all members 0, the defaults apply. */
struct hr_trace_options {
  /* name of a format, with parameters after a colon; NULL or "auto": the format is detected from the content */
  const char *format;
  /* column map; NULL or empty: columns have the names of the format. In formats other than "csv", only the fields
     class, tenant, queue, user and model can be mapped, and only if the columns of the format have names. A packed
     trace ignores the map, but rules are an error */
  const struct hr_column_map *map;
  bool lenient; /* leave out invalid rows and count them by reason; default: the first invalid row is an error */
  /* only the requests of jobs will be used. Columns of times may be missing, as in a list of pods; jobs are then
     submitted at time 0 with run time 0. Notes about replays are omitted */
  bool untimed;
  /* for streamed runs: columns are mapped from files, so their memory can be reclaimed. The columns of a packed trace
     are mapped from its file. The rows of a text trace must be sorted by submit time; their columns are stored in
     unnamed files in $TMPDIR (or /var/tmp), which are removed with the trace. Ids are stored only if the trace is
     packed and its ids are numbers; otherwise the id of a job is the number of its row */
  bool streamed;
  /* for callers that read the trace once, in order. Columns are stored in files as in a streamed trace, so their memory
     can be reclaimed, as long as the rows are sorted by submit time and the ids are increasing numbers (or absent). At
     the first row that violates this, the trace is moved into memory. The trace is the same as without this option */
  bool spooled;
  bool drop_failed; /* leave out jobs with HR_OUTCOME_FAILED, and count them */
};

/*
 * Reads a trace from a file, which may be compressed with gzip or zstd; this is detected from its content. `path` "-"
 * is standard input. `options` may be NULL. The caller frees `*trace` with hr_trace_destroy. Returns HR_BAD_INPUT for
 * invalid input; `error` names the file and the line.
 *
 * The columns of a packed trace are validated and then mapped from its file. The file may be replaced by another file
 * while the trace exists, but must not be modified in place.
 */
HR_API enum hr_status hr_trace_read(const char *path, const struct hr_trace_options *options, struct hr_trace **trace,
                                    struct hr_error *error);

/* The contents of a packed trace. */
enum { HR_PACKED_NAME_BYTES = 32, HR_PACKED_MAX_SECTIONS = 48 };
struct hr_packed {
  uint32_t n_jobs, n_sections;
  uint64_t bytes; /* size of the whole file */
  struct hr_packed_section {
    char name[HR_PACKED_NAME_BYTES]; /* "submit_us", "tenants", ... */
    /* number of entries; size of the section; XXH3-64 of the bytes of the section */
    uint64_t entries, bytes, checksum;
  } sections[HR_PACKED_MAX_SECTIONS];
};

/* Writes a trace to `path` as a packed file (docs/reference/formats/packed.md), completely or not at all. Sets
   `*packed` to a description of the file; `packed` may be NULL. For equal traces, the files have identical bytes.
   Returns HR_BAD_INPUT for a trace without jobs, if `path` cannot be written, and on machines that are not
   little-endian. */
HR_API enum hr_status hr_trace_pack(const struct hr_trace *trace, const char *path, struct hr_packed *packed,
                                    struct hr_error *error);
/* Writes the description of a packed file as JSON. `path` "-" is standard output. */
HR_API enum hr_status hr_packed_write_json(const struct hr_packed *packed, const char *path, struct hr_error *error);

/* Returns whether the trace has dates without a time zone. The time zone of these dates is unknown. */
HR_API bool hr_trace_has_local_dates(const struct hr_trace *trace);

/* The kinds of losses that can occur when a trace is written to a file. The columns: enumerator, name in files. */
#define HR_LOSS_TABLE(X)                                                                                               \
  X(HR_LOSS_DROPPED, "dropped")       /* the format has no such field */                                               \
  X(HR_LOSS_ROUNDED, "rounded")       /* values were rounded to the precision of the format */                         \
  X(HR_LOSS_RENUMBERED, "renumbered") /* names became numbers from 1, in the order of first appearance */              \
  X(HR_LOSS_LEFT_OUT, "left-out")     /* jobs were left out because the format cannot represent a value of this field */

enum hr_loss_kind {
#define HR_LOSS_NAME(name, text) name,
  HR_LOSS_TABLE(HR_LOSS_NAME)
#undef HR_LOSS_NAME
      HR_N_LOSSES
};

/* Returns the name of a loss in files. */
HR_API const char *hr_loss_name(enum hr_loss_kind kind);

/* A loss of one kind in one field. */
struct hr_trace_loss {
  enum hr_loss_kind kind;
  /* name of the field in column maps; "dates" if dates without a time zone were replaced by seconds */
  const char *field;
  uint64_t n_jobs; /* number of jobs that are affected */
};

enum { HR_MAX_LOSSES = 64 };
/* A description of the data that were written to a file. */
struct hr_trace_written {
  const char *format; /* "csv", "swf" or "packed" */
  uint32_t n_jobs;
  uint64_t bytes;                             /* size of the file before compression */
  struct hr_trace_loss losses[HR_MAX_LOSSES]; /* [n_losses] */
  uint32_t n_losses;
};

/* Returns the format for writing a trace to `path`. If `name` is not NULL, this is the format with the name `name`.
   Otherwise, the extension of `path` determines the format; a last extension `.gz` or `.zst` is ignored. Case is
   ignored. A path without an extension is written in the format csv. Returns NULL, with an error, if no format has the
   name or the extension, or if the format does not support the compression. */
HR_API const struct hr_trace_format *hr_trace_writer_find(const char *name, const char *path, struct hr_error *error);

/*
 * Writes a trace to `path`, completely or not at all. `path` "-" is standard output. If the path ends with `.gz` or
 * `.zst`, the file is compressed. `format` is a name or NULL, see hr_trace_writer_find. Sets `*written` to a
 * description of the written and the lost data (docs/reference/traces.md); `written` may be NULL.
 *
 * Headroom's CSV format has no losses: hr_trace_read returns the same trace from the file. For equal traces, the files
 * have identical bytes before compression. Returns HR_BAD_INPUT, naming the job, for values that the format cannot
 * represent even with losses. In CSV these are times before 0 s or, in a dated trace, years outside of 1 to 9999.
 */
HR_API enum hr_status hr_trace_write(const struct hr_trace *trace, const char *path, const char *format,
                                     struct hr_trace_written *written, struct hr_error *error);
/* Adds a note for each loss. */
HR_API enum hr_status hr_trace_loss_notes(const struct hr_trace_written *written, struct hr_notes *notes);

/* Reads a list of nodes in openb format (columns sn, cpu_milli, memory_mib, gpu, model) or in the format of Alibaba PAI
   (columns machine, gpu_type, cap_cpu, cap_mem, cap_gpu; a header is not required). Appends a pool to the cluster
   for each distinct kind of node, in the order of first appearance. Sets `node_order` of the cluster to the order of
   the list. Nodes without GPUs are left out; a note states how many. Returns HR_BAD_INPUT for invalid input. */
HR_API enum hr_status hr_nodes_read(const char *path, struct hr_cluster_spec *cluster, struct hr_notes *notes,
                                    struct hr_error *error);

/* A number of GPUs that synthetic jobs request, and how frequent it is. */
struct hr_gpu_count {
  uint32_t gpus;
  double weight; /* relative weight */
};
/* The parameters of a synthetic workload: Poisson arrivals with a daily wave, log-normal run times, a table of GPU
   counts, and users with Zipf popularity. */
struct hr_generator {
  uint64_t count, seed; /* count: number of jobs */
  /* offered load: (arrival rate) * (mean number of GPUs of a job) * (mean run time) / (GPUs of the cluster) */
  double load;
  uint32_t nodes, gpus_per_node; /* the cluster to which `load` refers */
  double median_s, sigma;        /* median of the run time, and standard deviation of its natural logarithm */
  double max_s;                  /* maximum run time in seconds, included in the mean run time; 0: no maximum */
  /* range of limit / run time, which is uniformly distributed; both 0: jobs have no limits */
  double limit_min, limit_max;
  double diurnal; /* relative amplitude of the daily wave of arrivals, from 0 (no wave) to 1 */
  /* numbers of users and tenants; users have Zipf popularity with exponent 1; user u belongs to tenant u mod tenants */
  uint32_t users, tenants;
  const struct hr_gpu_count *gpu_counts; /* [n_gpu_counts]; NULL: the default table */
  size_t n_gpu_counts;
};

/* Sets `*generator` to the defaults. */
HR_API void hr_generator_init(struct hr_generator *generator);
/* Checks whether generated jobs can be written to a file of this name. Sets `*job_by_job` to true if each job is
   written as soon as it is generated, which is the case for uncompressed CSV. For other files, all jobs are first
   stored in memory. Returns HR_BAD_INPUT for the errors of hr_trace_writer_find, and for SWF, which cannot represent
   all values. */
HR_API enum hr_status hr_generated_file(const char *path, bool *job_by_job, struct hr_error *error);
/* Generates jobs and writes them to `path`, completely or not at all. `path` "-" is standard output. The extension
   determines the format: `.hrt` is a packed file; `.csv` and no extension are Headroom's CSV format. A CSV file with
   the further extension `.gz` or `.zst` is compressed. For equal generators, the files have identical bytes before
   compression. Returns HR_BAD_INPUT for invalid parameters and for the errors of hr_generated_file. */
HR_API enum hr_status hr_generate(const struct hr_generator *generator, const char *path, struct hr_error *error);

/*
 * ---- Redrawn workloads: alternative weeks and growth (docs/researcher/workload.md) ----
 *
 * A redrawn workload consists of randomly drawn blocks of a trace. It represents a period that could have been recorded
 * instead of the trace. The clock is that of the trace: time 0 is its first submit. Blocks are whole days (86,400 s) or
 * whole weeks of the trace. If the trace is not dated, the first block begins at the first submit. If the trace is
 * dated, days begin at midnight of the clock of the trace (UTC if its dates have time zones), and weeks begin at the
 * midnight of its first whole day. A recording usually begins before the first submit and ends after the last submit.
 * Therefore, a block counts as whole if at most an hour of it is before the first submit, and at most an hour of it is
 * after the last submit.
 *
 * The redrawn workload is divided into positions 0, 1, ..., which are as long as the blocks. Each position receives one
 * whole block, drawn uniformly with replacement. If blocks are days and the trace has at least 14 whole days, position
 * p receives only days d with d modulo 7 = p modulo 7. Jobs then keep their weekday. Jobs after the end of the workload
 * are left out. If a dated trace does not begin at midnight, position 0 begins before time 0, and jobs before time 0
 * are left out, too.
 *
 * Sources: the block bootstrap (Kuensch, Ann. Stat. 17, 1989) with blocks of whole seasonal periods (Politis 2001;
 * Chan, Lahiri and Meeker, Technometrics 46, 2004); thinning (Lewis and Shedler 1979).
 */

/* The kinds of blocks. The columns: enumerator, name as users type it. */
#define HR_BLOCKS_TABLE(X)                                                                                             \
  X(HR_BLOCKS_NONE, "none")                                                                                            \
  X(HR_BLOCKS_DAYS, "days")                                                                                            \
  X(HR_BLOCKS_WEEKS, "weeks")

/* HR_BLOCKS_NONE: no blocks; the jobs of the trace are not moved. */
enum hr_blocks {
#define HR_BLOCKS_NAME(name, text) name,
  HR_BLOCKS_TABLE(HR_BLOCKS_NAME)
#undef HR_BLOCKS_NAME
      HR_N_BLOCKS
};

/* Returns the name as users type it. */
HR_API const char *hr_blocks_name(enum hr_blocks blocks);

/* HR_MAX_GROWTH: the maximum of `growth` * factor. HR_MIN_GROWTH: the minimum of `growth` in scenarios. */
#define HR_MAX_GROWTH 1000
#define HR_MIN_GROWTH 0.001

/* How a workload is drawn from a trace. */
struct hr_workload_spec {
  enum hr_blocks blocks;
  double growth; /* demand relative to the trace, above 0; 1: as in the trace */
  /* length of the workload: all jobs are submitted before this time. 0: the length of the trace, including its last
     job. If `blocks` is HR_BLOCKS_NONE, at most the length of the trace */
  int64_t length_us;
  /* `series` and `factors` describe growth that differs by series (groups of jobs) and by position. They are borrowed.
     `series`, [n_jobs of the trace]: the series of each job; HR_NONE: the job has no series, and the factor 1. NULL:
     all jobs are in series 0 */
  const uint32_t *series;
  /* factors[series * n_positions + position]: the factor by which `growth` is multiplied, at least 0; NULL: all factors
     are 1 */
  const double *factors;
  /* dimensions of `factors`; n_positions is at least the number of positions of the workload */
  uint32_t n_series, n_positions;
};
/* Sets the defaults: no blocks, growth 1, the length of the trace and no factors, which is the trace as recorded. */
HR_API void hr_workload_spec_init(struct hr_workload_spec *spec);

/* The division of a trace into blocks, and of the workload into positions. Block b of the trace and position b of the
   workload both begin at start_us + b * block_us. */
struct hr_workload_cut {
  int64_t start_us; /* at most 0 */
  int64_t block_us;
  int64_t length_us;    /* length of the workload */
  uint32_t n_positions; /* number of positions of the workload; the first and the last may be partial */
  /* first_whole: index of the first whole block of the trace; n_whole: number of whole blocks */
  uint32_t first_whole, n_whole;
  bool keeps_weekdays; /* position p receives only days d with d modulo 7 = p modulo 7 */
};
/* Divides a trace into blocks of the kind `spec->blocks`. With HR_BLOCKS_NONE, the division is used only for the
   additional layers of growth (see hr_trace_redraw) and for the positions of factors. In this case, the first of these
   kinds that the trace permits is used: weeks, if it has at least two whole weeks; days, if it has at least two whole
   days; one block, which is the whole trace (n_whole is 1). Returns HR_BAD_INPUT if the trace has fewer than two whole
   blocks of a requested kind, has no jobs, or if the length is out of range; `error` states the possible choices. */
HR_API enum hr_status hr_trace_cut(const struct hr_trace *trace, const struct hr_workload_spec *spec,
                                   struct hr_workload_cut *cut, struct hr_error *error);

/*
 * Draws a workload. The growth g of a job at a position is `growth` * factor. A workload is the union of layers 0, 1,
 * ... Each layer is a redrawn copy of the trace, or a part of a copy. Layer k includes a job with probability
 * max(0, min(1, g - k)). Each layer draws its own blocks.
 *
 * Without blocks, layer 0 has the jobs at their times in the trace. The other layers draw blocks from the division by
 * hr_trace_cut. If the trace is too short for two blocks, each of the other layers is the trace with all submit times
 * shifted by a random time, modulo the length of the trace.
 *
 * Jobs keep all members except the id and times. The deadline and the recorded start are shifted with the submit time.
 * New ids are numbers from 1 in the order of (submit, layer, position in the trace). The draw of a block depends only
 * on (seed, position, layer). The draw of a job depends only on (seed, job, position, layer). Therefore, for one seed,
 * the jobs of a workload are a subset of the jobs of a workload with larger growth.
 *
 * The caller frees `*drawn` with hr_trace_destroy. `*drawn` borrows the names of `trace` (tenants, models, source,
 * ...), so `trace` must outlive `*drawn`. Notes and skipped rows are only in `trace`. Returns HR_BAD_INPUT for the
 * errors of hr_trace_cut, for growth or factors that are out of range, and for a workload without jobs. On failure
 * `*drawn` is NULL.
 */
HR_API enum hr_status hr_trace_redraw(const struct hr_trace *trace, const struct hr_workload_spec *spec, uint64_t seed,
                                      struct hr_trace **drawn, struct hr_error *error);

/* Draws a workload of exactly `count` jobs, at least 1: the first `count` jobs of a sufficiently long workload. The
   length in `spec` is ignored; `spec` must have blocks and no factors. With the same seed and a larger count, the
   workload begins with the same jobs. Returns the errors of hr_trace_redraw, and HR_BAD_INPUT if `count` jobs would
   take longer than HR_MAX_INPUT_US. The caller frees `*drawn`, which borrows from `trace` as in hr_trace_redraw. */
HR_API enum hr_status hr_trace_redraw_count(const struct hr_trace *trace, const struct hr_workload_spec *spec,
                                            uint64_t seed, uint32_t count, struct hr_trace **drawn,
                                            struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
