/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_TRACE_FILES_H
#define HEADROOM_TRACE_FILES_H

/*
 * Reading, building, writing and generating traces: job records, the trace builder, file formats, column maps, packed
 * files, redrawn workloads.
 */

#include "headroom/base.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Frees a trace and its columns. NULL is accepted. */
HR_API void hr_trace_destroy(struct hr_trace *trace);

/* A string of `length` bytes that need not end with a NUL. NULL or empty means unknown. */
struct hr_text {
  const char *at;
  size_t length;
};

/* One job as input of a trace. hr_job_record_init sets all members to unknown. Strings need only be valid during the
   call that takes the record. The members, their units and unknown values are in headroom/job_fields.h. Instants are on
   the input's clock. */
struct hr_job_record {
#define HR_RECORD_ID(...) struct hr_text id;
#define HR_RECORD_VALUE(id, member, type, record_type, ...) record_type member;
#define HR_RECORD_NAME(id, member, ...) struct hr_text member;
  HR_JOB_FIELD_TABLE(HR_RECORD_ID, HR_RECORD_VALUE, HR_RECORD_NAME, HR_RECORD_VALUE, HR_NO_FIELD)
#undef HR_RECORD_ID
#undef HR_RECORD_VALUE
#undef HR_RECORD_NAME
};
HR_API void hr_job_record_init(struct hr_job_record *record);
/* Returns why a record is not a valid job, as a sentence; NULL if it is valid. */
HR_API const char *hr_job_record_fault(const struct hr_job_record *record);
/* Sets `*record` to the record of a job in a trace, with times on the input's clock. Its strings belong to the trace.
   An id that is a number is written to `id_buffer`, which has at least HR_JOB_ID_BUFFER bytes. */
HR_API void hr_trace_job_record(const struct hr_trace *trace, hr_job job, struct hr_job_record *record,
                                char *id_buffer);
/* Parses a list of fields such as "user,model" into the set `*fields`. The names are those of column maps (below);
   mandatory fields are excluded. On HR_BAD_INPUT, `error` suggests the nearest name. */
HR_API enum hr_status hr_fields_parse(const char *text, uint64_t *fields, struct hr_error *error);
/* Sets all members of the record that are in the set `fields` to unknown. If the set contains the id, the caller must
   make the ids of all jobs of the trace unknown. */
HR_API void hr_job_record_forget(struct hr_job_record *record, uint64_t fields);

/* Builds a trace job by job. hr_trace_builder_create copies `source` and `format` (see struct hr_trace) and returns
   NULL if memory is exhausted. */
struct hr_trace_builder;
HR_API struct hr_trace_builder *hr_trace_builder_create(const char *source, const char *format);
HR_API void hr_trace_builder_destroy(struct hr_trace_builder *builder);
/* Returns the notes of the future trace, to which the caller may add notes. */
HR_API struct hr_notes *hr_trace_builder_notes(struct hr_trace_builder *builder);
/* Records that the dates of the trace have no time zone, see hr_trace_has_local_dates. */
HR_API enum hr_status hr_trace_builder_note_local_dates(struct hr_trace_builder *builder);
/* Adds a job. `line` is the line of the job in the file. It is printed in errors that are found later, such as
   duplicate ids. Lines must be ascending. Returns HR_BAD_INPUT if the record is not a valid job. */
HR_API enum hr_status hr_trace_builder_add(struct hr_trace_builder *builder, const struct hr_job_record *record,
                                           uint64_t line, struct hr_error *error);
/* Counts an invalid row that is left out for `reason`. `line` is its line in the file. */
HR_API enum hr_status hr_trace_builder_skip(struct hr_trace_builder *builder, const char *reason, uint64_t line);
/* Counts a valid row that is left out for `reason`. `line` is its line in the file. */
HR_API enum hr_status hr_trace_builder_leave_out(struct hr_trace_builder *builder, const char *reason, uint64_t line);
/* Sorts the jobs, checks that ids are distinct, and sets `*trace`. A duplicate id is an error; with `lenient`, the job
   with the duplicate id is left out instead. `dated`: the input's clock consists of dates. The caller frees `*trace`
   with hr_trace_destroy and must still destroy the builder. Returns HR_BAD_INPUT if no job was added. */
HR_API enum hr_status hr_trace_builder_finish(struct hr_trace_builder *builder, bool dated, bool lenient,
                                              struct hr_trace **trace, struct hr_error *error);

/* Returns a trace without jobs, for scenarios that have only services. The caller frees `*trace` with
   hr_trace_destroy. */
HR_API enum hr_status hr_trace_empty(const char *source, struct hr_trace **trace, struct hr_error *error);

/* A column map: for each field, the name of the column that contains it. A field is a key such as "submit", "duration",
   "gpus" or "tenant"; "queue" has the same meaning as "tenant". All members 0: an empty map. An entry with a pattern is
   a rule: jobs whose `column` matches the extended regular expression `pattern` have the value `value` in the field.
   The first rule that matches applies, and precedes the column of the field. Rules are for the fields "class" and
   "tenant". */
struct hr_column_map {
  struct hr_column_name {
    char *field, *column;
    char *value, *pattern; /* NULL: not a rule */
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

/* Adds the entry `field` = `column` to a map. HR_BAD_INPUT for an unknown field; `error` suggests the nearest field. */
HR_API enum hr_status hr_column_map_add(struct hr_column_map *map, const char *field, const char *column,
                                        struct hr_error *error);
/* Adds a copy of an entry of another map. */
HR_API enum hr_status hr_column_map_add_entry(struct hr_column_map *map, const struct hr_column_name *entry,
                                              struct hr_error *error);
/* Adds a rule from a text such as "interactive=JobName~^(jupyter|vscode)". Returns HR_BAD_INPUT if the text is not
   VALUE=COLUMN~PATTERN, if the pattern is invalid, or if the field is "class" and the value is not a class. */
HR_API enum hr_status hr_column_map_add_rule(struct hr_column_map *map, const char *field, const char *text,
                                             struct hr_error *error);
/* Adds all entries of a text such as "submit=arrival_s,duration=service_sec". */
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

/* Options of hr_trace_read. All members 0 are the defaults. */
struct hr_trace_options {
  /* name of a format, with parameters after a colon; NULL or "auto": the format is recognised by content */
  const char *format;
  /* column map; NULL or empty: columns have the names of the format. Formats with fixed columns can map class, tenant,
     user and model, if their columns have names */
  const struct hr_column_map *map;
  bool lenient; /* leave out invalid rows and count them by reason; default: the first invalid row is an error */
  /* set if only the requests of jobs will be used. Times may be missing, as in a list of pods; such jobs are submitted
     at time 0 with run time 0. Notes about replays are omitted */
  bool untimed;
  /* For streamed runs: columns are mapped from files, so their memory can be reclaimed. Ids are stored only if the
     trace is packed and its ids are numbers; otherwise the id of a job is the number of its row. The columns of a
     packed trace are mapped from its file. The rows of a text trace must be sorted by submit; their columns are in
     unnamed files in $TMPDIR (or /var/tmp), which are removed with the trace. */
  bool streamed;
  /* For callers that read the trace once, in order. As long as the rows are sorted by submit and the ids are increasing
     numbers (or absent), columns are in files as in a streamed trace, so their memory can be reclaimed. At the first
     row that violates this, the trace is moved into memory. The trace is the same as without this option. */
  bool spooled;
  bool drop_failed; /* leave out jobs with HR_OUTCOME_FAILED, and count them */
};

/*
 * Reads a trace from a file. The file may be compressed with gzip or zstd; this is recognised by content. `path` "-" is
 * standard input. `options` may be NULL. The caller frees `*trace` with hr_trace_destroy. Returns HR_BAD_INPUT (`error`
 * names file and line), HR_IO_ERROR or HR_NO_MEMORY.
 *
 * The columns of a packed trace are validated and then mapped from its file. The file may be replaced by another file
 * while the trace exists, but must not be modified in place.
 */
HR_API enum hr_status hr_trace_read(const char *path, const struct hr_trace_options *options, struct hr_trace **trace,
                                    struct hr_error *error);

/* The contents of a packed trace. For each section: its name ("submit_us", "tenants", ...), number of entries, number
   of bytes, and the XXH3-64 checksum of the bytes. */
enum { HR_PACKED_NAME_BYTES = 32, HR_PACKED_MAX_SECTIONS = 48 };
struct hr_packed {
  uint32_t n_jobs, n_sections;
  uint64_t bytes; /* of the whole file */
  struct hr_packed_section {
    char name[HR_PACKED_NAME_BYTES];
    uint64_t entries, bytes, checksum;
  } sections[HR_PACKED_MAX_SECTIONS];
};

/* Writes a trace to `path` as a packed file (docs/reference/formats.md), completely or not at all. `*packed` is set to
   the contents of the file; `packed` may be NULL. Equal traces give identical bytes. */
HR_API enum hr_status hr_trace_pack(const struct hr_trace *trace, const char *path, struct hr_packed *packed,
                                    struct hr_error *error);
/* Writes the contents of a packed file as JSON. `path` "-" is standard output. */
HR_API enum hr_status hr_packed_write_json(const struct hr_packed *packed, const char *path, struct hr_error *error);

/* Whether the dates of a trace have no time zone. In this case it is unknown in which time zone they are. */
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
  uint64_t n_jobs; /* number of jobs with a value in the field */
};

enum { HR_MAX_LOSSES = 64 };
/* Describes the data that were written to a file. */
struct hr_trace_written {
  const char *format; /* "csv", "swf" or "packed" */
  uint32_t n_jobs;
  uint64_t bytes;                             /* size of the file before compression */
  struct hr_trace_loss losses[HR_MAX_LOSSES]; /* [n_losses] */
  uint32_t n_losses;
};

/* Finds a format for writing. If `name` is NULL, the extension of `path` determines the format, ignoring case and after
   removal of a compression extension; a path without an extension means csv. Returns NULL, with an error, if no format
   has the name or the extension, or if the format does not support the compression. */
HR_API const struct hr_trace_format *hr_trace_writer_find(const char *name, const char *path, struct hr_error *error);

/*
 * Writes a trace to `path`, completely or not at all. `path` "-" is standard output. A path that ends with `.gz` or
 * `.zst` is compressed. `format` is a name or NULL, see hr_trace_writer_find. `*written` receives a description of the
 * written and the lost data (docs/reference/traces.md); `written` may be NULL.
 *
 * Writing Headroom's CSV format causes no losses: reading the file returns the same trace. Equal traces give identical
 * bytes before compression. Returns HR_BAD_INPUT, naming the job, for values that the format cannot represent even with
 * losses. In CSV these are times before 0 or after the year 9999.
 */
HR_API enum hr_status hr_trace_write(const struct hr_trace *trace, const char *path, const char *format,
                                     struct hr_trace_written *written, struct hr_error *error);
/* Adds a note for each loss. */
HR_API enum hr_status hr_trace_loss_notes(const struct hr_trace_written *written, struct hr_notes *notes);

/* Reads a list of nodes in openb format (columns sn, cpu_milli, memory_mib, gpu, model). Appends a pool for each
   distinct kind of node to the cluster, in the order of first appearance, and sets node_order to the order of the list.
   Nodes without GPUs are left out; a note states how many. */
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
  uint64_t count, seed;          /* count: number of jobs */
  double load;                   /* mean number of GPUs requested / GPUs of the cluster */
  uint32_t nodes, gpus_per_node; /* the cluster to which `load` refers */
  /* log-normal run time: median in seconds, and standard deviation of its logarithm */
  double median_s, sigma;
  double max_s; /* maximum run time in seconds; 0: none. The arrival rate is adjusted so that `load` is still reached */
  /* range of limit / run time, which is uniformly distributed; both 0: jobs have no limits */
  double limit_min, limit_max;
  double diurnal; /* amplitude of the daily wave of arrivals, from 0 (no wave) to 1 */
  /* numbers of users and tenants; users have Zipf popularity with exponent 1; user u belongs to tenant u mod tenants */
  uint32_t users, tenants;
  const struct hr_gpu_count *gpu_counts; /* [n_gpu_counts]; NULL: the default table */
  size_t n_gpu_counts;
};

/* Sets `*generator` to the defaults. */
HR_API void hr_generator_init(struct hr_generator *generator);
/* Checks whether generated jobs can be written to a file of this name. Sets `*job_by_job` to true if each job is
   written as soon as it is generated, which is the case for uncompressed CSV. For other files, all jobs are first
   stored in memory. Returns HR_BAD_INPUT for extensions that hr_trace_writer_find does not know, and for SWF, which
   cannot represent all values. */
HR_API enum hr_status hr_generated_file(const char *path, bool *job_by_job, struct hr_error *error);
/* Generates jobs and writes them to `path`, completely or not at all. `path` "-" is standard output. The format is
   Headroom's CSV, compressed for the extensions `.gz` and `.zst`, or packed for `.hrt`. All jobs are stored in memory
   except for uncompressed CSV. Equal generators give identical bytes. */
HR_API enum hr_status hr_generate(const struct hr_generator *generator, const char *path, struct hr_error *error);

/*
 * ---- Redrawn workloads: alternative weeks and growth (docs/researcher/workload.md) ----
 *
 * A redrawn workload consists of randomly drawn blocks of a trace, so it is an example of what the weeks of the trace
 * could have been. The clock is that of the trace: time 0 is its first submit. Blocks are whole days (86,400 s) or
 * whole weeks of the trace. If the trace is not dated, the first block begins at the first submit. If it is dated, days
 * begin at midnight of the clock that wrote the trace (UTC if its dates have time zones), and weeks begin at the
 * midnight of its first whole day. A recording usually begins before the first submit and ends after the last submit.
 * Therefore a block counts as whole if at most an hour of it is before the first or after the last submit.
 *
 * The redrawn workload is divided into positions 0, 1, ..., which are as long as the blocks of the trace. Each position
 * receives one whole block, drawn uniformly with replacement. If blocks are days and the trace has at least 14 whole
 * days, position p receives only days d with d modulo 7 = p modulo 7, so jobs keep their weekday. Jobs before time 0
 * (in a dated trace that does not begin at midnight) and jobs after the end of the workload are left out.
 *
 * Sources: the block bootstrap (Kuensch, Ann. Stat. 17, 1989) with blocks of whole seasonal periods (Politis 2001;
 * Chan, Lahiri and Meeker, Technometrics 46, 2004); thinning (Lewis and Shedler 1979).
 */

#define HR_BLOCKS_TABLE(X)                                                                                             \
  X(HR_BLOCKS_NONE, "none")                                                                                            \
  X(HR_BLOCKS_DAYS, "days")                                                                                            \
  X(HR_BLOCKS_WEEKS, "weeks")

/* The kind of block. HR_BLOCKS_NONE: no blocks; the jobs of the trace stay in their order. */
enum hr_blocks {
#define HR_BLOCKS_NAME(name, text) name,
  HR_BLOCKS_TABLE(HR_BLOCKS_NAME)
#undef HR_BLOCKS_NAME
      HR_N_BLOCKS
};

/* Returns the name as users type it. */
HR_API const char *hr_blocks_name(enum hr_blocks blocks);

/* The maximum of growth times factor, and the minimum of growth. */
#define HR_MAX_GROWTH 1000
#define HR_MIN_GROWTH 0.001

/* How a workload is drawn from a trace. */
struct hr_workload_spec {
  enum hr_blocks blocks;
  double growth; /* demand relative to the trace, above 0; 1: as in the trace */
  /* Length of the workload: all jobs are submitted before this time. 0: the length of the trace, including its last
     job. If `blocks` is HR_BLOCKS_NONE, at most the length of the trace. */
  int64_t length_us;
  /* `series` and `factors` are borrowed. They describe growth that differs by series (groups of jobs) and by position.
     `series`, [n_jobs of the trace]: the series of each job; HR_NONE: no series, with factor 1; NULL: all jobs are in
     series 0. */
  const uint32_t *series;
  const double *factors; /* factors[series * n_positions + position], at least 0, multiplied with `growth`; NULL: 1 */
  /* dimensions of `factors`; n_positions is at least the number of positions of the workload */
  uint32_t n_series, n_positions;
};
/* Sets the defaults: no blocks, growth 1, the length of the trace and no factors, which is the trace as recorded. */
HR_API void hr_workload_spec_init(struct hr_workload_spec *spec);

/* How a trace and the workload drawn from it are divided. Both block b of the trace and position b of the workload
   begin at start_us + b * block_us. */
struct hr_workload_cut {
  int64_t start_us; /* at most 0 */
  int64_t block_us;
  int64_t length_us;    /* length of the workload */
  uint32_t n_positions; /* number of positions of the workload, of which the first and the last may be partial */
  /* first_whole: index of the first whole block of the trace; n_whole: how many blocks are whole */
  uint32_t first_whole, n_whole;
  bool keeps_weekdays; /* position p receives only days d with d modulo 7 = p modulo 7 */
};
/* Divides a trace into blocks of the kind `spec->blocks`. With HR_BLOCKS_NONE, the division is used only for the
   additional layers of growth (see hr_trace_redraw) and for the positions of factors. It then consists of weeks if the
   trace has at least two whole weeks; otherwise of days if the trace has at least two whole days; otherwise of one
   block, which is the whole trace (n_whole is 1). Returns HR_BAD_INPUT if the trace has fewer than two whole blocks of
   the requested kind, or if the length is out of range; `error` states the possible choices. */
HR_API enum hr_status hr_trace_cut(const struct hr_trace *trace, const struct hr_workload_spec *spec,
                                   struct hr_workload_cut *cut, struct hr_error *error);

/*
 * Draws a workload. The growth g of a job at a position is `growth` times its factor. A workload is the union of layers
 * 0, 1, ..., each of which is one redrawn copy of the trace or a part of such a copy. A job with g >= k + 1 is always
 * included in layer k. If k < g < k + 1, the job is included in layer k with probability g - k. If g <= k, the job is
 * not in layer k. Each layer draws its own blocks.
 *
 * Without blocks, layer 0 is the trace in its order. The other layers draw blocks from the division by hr_trace_cut. If
 * the trace is too short for two blocks, each of these layers is the trace, rotated by a random time modulo its length.
 *
 * Jobs keep all members except submit, deadline and id. The deadline moves with the submit. New ids are numbers from 1
 * in the order of (submit, layer, position in the trace). The draw of a block depends only on (seed, position, layer).
 * The draw of a job depends only on (seed, job, position, layer). Therefore, for one seed, the jobs of a workload are a
 * subset of the jobs of a workload with larger growth.
 *
 * The caller frees `*drawn` with hr_trace_destroy. `*drawn` borrows the names of `trace` (tenants, models, source,
 * ...), so `trace` must outlive it. Notes and skipped rows are only in `trace`. Returns HR_BAD_INPUT for a workload
 * without jobs. On failure `*drawn` is NULL.
 */
HR_API enum hr_status hr_trace_redraw(const struct hr_trace *trace, const struct hr_workload_spec *spec, uint64_t seed,
                                      struct hr_trace **drawn, struct hr_error *error);

/* Draws a workload of exactly `count` jobs, at least 1: the first `count` jobs of a sufficiently long workload. The
   length in `spec` is ignored; `spec` must have blocks and no factors. With the same seed and a larger count, the
   workload begins with the same jobs. Also returns HR_BAD_INPUT if `count` jobs would take longer than the maximum
   length of a workload. The caller frees `*drawn`, which borrows from `trace` as in hr_trace_redraw. */
HR_API enum hr_status hr_trace_redraw_count(const struct hr_trace *trace, const struct hr_workload_spec *spec,
                                            uint64_t seed, uint32_t count, struct hr_trace **drawn,
                                            struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
