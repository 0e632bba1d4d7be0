/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom sweep` runs a grid of settings and stores each run as a row of a SQLite file; `headroom merge` merges such
   files. */

#include "cli/cli.h"
#include "headroom/unstable/compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sweep_args {
  const char *db, *csv, *shard;
  struct page_args page;
  uint64_t threads, max_runs; /* 0: not set */
  bool quiet;
};

#define AT(field) offsetof(struct sweep_args, field)
static const struct option sweep_options[] = {
    {"db", OPTION_TEXT, AT(db), "FILE",
     "the SQLite file to create or resume (default: the grid's name with .sqlite, in the current folder)"},
    {"csv", OPTION_TEXT, AT(csv), "FILE",
     "also write the file's runs as CSV ('-': standard output, without the table)"},
    RANK_THREADS_OPTION(sweep_args),
    {"shard", OPTION_TEXT, AT(shard), "I/N",
     "run only the I-th of N parts, with I from 1 to N; 'headroom merge' merges the files"},
    {"max-runs", OPTION_WHOLE, AT(max_runs), "N",
     "refuse a grid with more runs than this (replaces 'max_runs' of the grid)", 1, 1e9},
    REPORT_OPTION(AT(page)),
    QUIET_OPTION(sweep_args),
    {0}};

static const char sweep_details[] = "GRID is a JSON file with a scenario, axes and a design\n"
                                    "(docs/researcher/sweep.md). All scenarios and traces are read before the first\n"
                                    "run. Each run is stored when it ends: an interrupted sweep resumes when the same\n"
                                    "command is repeated. The complete file has the same bytes in either case.\n"
                                    "Under mpirun, the ranks share the runs, and rank 0 also writes the file.\n"
                                    "Exit code: 0 success, 2 bad input or usage (the file of another sweep is not\n"
                                    "changed), 3 a policy broke its contract, 4 system failure.\n\n"
                                    "Examples:\n"
                                    "  headroom sweep scenarios/sweeps/demo.json\n"
                                    "  headroom sweep scenarios/sweeps/demo.json --shard 1/3 --db part1.sqlite\n"
                                    "  mpirun -n 16 headroom sweep scenarios/sweeps/demo.json\n"
                                    "  sqlite3 demo.sqlite 'SELECT nodes, policy, wait_mean_s FROM points'\n";

/* ---- Options ---------------------------------------------------------------------------------------- */

static enum hr_status parse_shard(const char *text, struct hr_sweep_config *config, struct hr_error *error) {
  char part[24] = "";
  uint64_t shard = 0, count = 0;
  if (!text) return HR_OK;
  size_t length = strcspn(text, "/");
  if (length < sizeof part) memcpy(part, text, length);
  bool good = text[length] == '/' && parse_whole(part, &shard) && parse_whole(text + length + 1, &count);
  if (!good || shard == 0 || shard > count || count > HR_MAX_SHARDS)
    return hr_fail(error, HR_BAD_INPUT, "--shard %.60s: expected I/N with I from 1 to N, such as 2/3", text);
  config->shard = (uint32_t)shard;
  config->n_shards = (uint32_t)count;
  return HR_OK;
}

/* Returns the name of the output file if none is set, such as "demo.sqlite" for the grid "scenarios/sweeps/demo.json".
   The caller frees the name. Returns NULL if out of memory. */
static char *default_file(const char *grid) {
  static const char end[] = ".sqlite";
  const char *slash = strrchr(grid, '/'), *base = slash ? slash + 1 : grid, *dot = strrchr(base, '.');
  size_t length = dot && dot != base ? (size_t)(dot - base) : strlen(base);
  char *file = malloc(length + sizeof end);
  if (!file) return NULL;
  memcpy(file, base, length);
  memcpy(file + length, end, sizeof end);
  return file;
}

/* ---- Output ----------------------------------------------------------------------------------------- */

static enum hr_status write_page(struct page *page, const char *grid, const char *file,
                                 const struct hr_sweep_counts *counts, struct hr_error *error) {
  char *text = NULL;
  enum hr_status status = hr_sweep_json(file, &text, error);
  if (status != HR_OK) return status;
  const struct page_subject subject = {.kind = "sweep", .title = grid, .sweep = text, .notes = &counts->notes};
  status = page_write(page, &subject, NULL, NULL, error);
  free(text);
  return status;
}

/* Writes the CSV file, and prints the notes and the table. `grid` is the path of the grid; NULL: files were merged.
   `csv` may be NULL. */
static enum hr_status print_results(const char *grid, const char *file, const char *csv, bool quiet,
                                    const struct hr_sweep_counts *counts, struct hr_error *error) {
  enum hr_status status = csv ? hr_sweep_write_csv(csv, file, error) : HR_OK;
  if (status != HR_OK || quiet) return status;
  notes_print(stderr, &counts->notes);
  if (is_stdout(csv)) return HR_OK;
  status = hr_sweep_print(stdout, file, counts, wants_colour(), error);
  if (status == HR_OK && grid)
    next_step_print(
        stdout,
        &(struct next_step){
            .verb = "sweep", .apart = true, .facts = counts->missing ? NEXT_FAILED : 0, .path = grid, .other = file});
  return status;
}

/* ---- sweep ------------------------------------------------------------------------------------------ */

/* Checks the outputs before the sweep. */
static enum hr_status prepare_outputs(const struct sweep_args *args, const char *grid, const char *file,
                                      struct page *page, struct hr_error *error) {
  const struct output outputs[] = {{"db", file}, {"csv", args->csv}, {"report", args->page.report}};
  enum hr_status status = page_prepare(page, &args->page, error);
  if (status == HR_OK) status = outputs_check(outputs, sizeof outputs / sizeof *outputs, &grid, 1, NULL, error);
  if (status == HR_OK && is_stdout(file))
    status = hr_fail(error, HR_BAD_INPUT, "--db -: expected a file, not standard output");
  return status;
}

static enum hr_status sweep_into(const struct sweep_args *args, const char *grid, const char *file,
                                 struct hr_ranks *ranks, struct hr_error *error) {
  struct progress_bar bar;
  struct hr_sweep_counts counts = {0};
  bool leads = ranks->rank == 0;
  struct hr_sweep_config config = {.grid = grid,
                                   .file = file,
                                   .max_runs = args->max_runs,
                                   .n_threads = count_rank_threads(args->threads),
                                   .ranks = ranks};
  struct page page = {0};
  enum hr_status status = parse_shard(args->shard, &config, error);
  if (status == HR_OK && leads) status = prepare_outputs(args, grid, file, &page, error);
  config.progress = progress_bar_start(&bar, leads && !args->quiet);
  progress_bar_count(&bar, 1, false);
  if (status == HR_OK) status = hr_sweep(&config, &counts, error);
  progress_bar_stop(&bar);
  if (status == HR_OK && leads && args->page.report) status = write_page(&page, grid, file, &counts, error);
  bool quiet = args->quiet || is_stdout(args->page.report);
  if (status == HR_OK && leads) status = print_results(grid, file, args->csv, quiet, &counts, error);
  page_finish(&page);
  hr_notes_finish(&counts.notes);
  return status;
}

static enum hr_status run_sweep(const void *untyped, const struct words *operands, struct hr_error *error) {
  const struct sweep_args *args = untyped;
  char *generated = args->db ? NULL : default_file(operands->at[0]);
  const struct command *command = &args->page.command;
  struct hr_ranks ranks;
  enum hr_status status = ranks_start(&ranks, command->count, command->words, error);
  if (status == HR_OK && !args->db && !generated) status = no_memory(error);
  if (status == HR_OK) status = sweep_into(args, operands->at[0], args->db ? args->db : generated, &ranks, error);
  free(generated);
  return hr_ranks_leave(&ranks, status, error);
}

const struct verb verb_sweep = {.name = "sweep",
                                .operands = "GRID",
                                .summary = "run a scenario with many settings and store the results in a SQLite file",
                                .details = sweep_details,
                                .options = sweep_options,
                                .args_bytes = sizeof(struct sweep_args),
                                .command_at = AT(page.command),
                                .on_ranks = true,
                                .run = run_sweep};

/* ---- merge ------------------------------------------------------------------------------------------ */

struct merge_args {
  const char *csv;
  bool quiet;
};

static const struct option merge_options[] = {
    {"csv", OPTION_TEXT, offsetof(struct merge_args, csv), "FILE",
     "also write the new file's runs as CSV ('-': standard output, without the table)"},
    {"quiet", OPTION_FLAG, offsetof(struct merge_args, quiet), NULL, "print no table; errors are still printed",
     .letter = 'q'},
    {0}};

static const char merge_details[] = "Merges files of the same sweep. OUT is created, or replaced if it is the file of\n"
                                    "a sweep. Grid, scenario, trace and version must be equal. A run that is in\n"
                                    "several files must be equal in all. OUT is written even if runs are missing;\n"
                                    "'headroom sweep GRID --db OUT' then adds them.\n"
                                    "Exit code: 0 success, 1 runs are missing, 2 bad input or usage (nothing is\n"
                                    "written), 4 system failure.\n\n"
                                    "Example:\n"
                                    "  headroom merge demo.sqlite part1.sqlite part2.sqlite part3.sqlite\n";

static enum hr_status run_merge(const void *untyped, const struct words *operands, struct hr_error *error) {
  const struct merge_args *args = untyped;
  const char *file = operands->at[0];
  const struct output outputs[] = {{"csv", args->csv}};
  struct hr_sweep_counts counts;
  enum hr_status status =
      outputs_check(outputs, sizeof outputs / sizeof *outputs, operands->at, operands->count, NULL, error);
  if (status == HR_OK) status = hr_sweep_merge(file, operands->at + 1, operands->count - 1, &counts, error);
  if (status == HR_OK) status = print_results(NULL, file, args->csv, args->quiet, &counts, error);
  if (status == HR_OK && counts.missing)
    status =
        hr_fail(error, HR_CHECK_FAILED, "%s: %" PRIu64 " of %" PRIu64 " runs are missing, the first is run %" PRIu64,
                file, counts.missing, counts.runs, counts.first_missing);
  return status;
}

const struct verb verb_merge = {.name = "merge",
                                .operands = "OUT SHARD...",
                                .summary = "merge the files of a sweep's shards into one",
                                .details = merge_details,
                                .options = merge_options,
                                .args_bytes = sizeof(struct merge_args),
                                .run = run_merge};
