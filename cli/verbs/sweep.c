/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom sweep` and `headroom merge`: many runs into a SQLite file, and such files into one. */

#include "headroom/unstable/sweep.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/run_files.h"
#include "headroom/unstable/compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sweep_args {
  const char *db, *csv, *shard;
  struct page_args page;
  uint64_t threads, max_runs; /* 0: not given */
  bool quiet;
};

#define AT(field) offsetof(struct sweep_args, field)
static const struct option sweep_options[] = {
    {.name = "db",
     .kind = OPTION_TEXT,
     .offset = AT(db),
     .value = "FILE",
     .help = "the SQLite file, made or gone on with; unless given, the grid's name with .sqlite, in this folder"},
    {.name = "csv",
     .kind = OPTION_TEXT,
     .offset = AT(csv),
     .value = "FILE",
     .help = "write the file's runs as CSV, too ('-': standard output, and no table)"},
    {.name = "threads",
     .kind = OPTION_WHOLE,
     .offset = AT(threads),
     .value = "N",
     .help = "runs at a time, as many as there are processors unless given; under mpirun of each rank, and 1 unless "
             "given; results are the same",
     .min = 1,
     .max = HR_MAX_THREADS},
    {.name = "shard",
     .kind = OPTION_TEXT,
     .offset = AT(shard),
     .value = "I/N",
     .help = "only the I-th of N parts of the runs, I from 1 on; headroom merge puts the files together"},
    {.name = "max-runs",
     .kind = OPTION_WHOLE,
     .offset = AT(max_runs),
     .value = "N",
     .help = "refuse a grid of more runs than this, instead of the grid's own 'max_runs'",
     .min = 1,
     .max = 1e9},
    REPORT_OPTION(AT(page)),
    QUIET_OPTION(sweep_args),
    {0}};

static const char sweep_details[] =
    "GRID is a JSON file: a scenario, axes, a design (docs/researcher/sweep.md). All scenarios\n"
    "are loaded and all traces read before the first run. Runs are kept as they end:\n"
    "a sweep that was stopped goes on when the same command is given again. When all\n"
    "are made, the file has the same bytes however it came about.\n"
    "Under mpirun, rank 0 deals the runs to the other ranks and writes the file.\n"
    "Exit code: 0 fine, 2 bad input or usage (a file of another sweep is left as it\n"
    "is), 3 a policy broke its contract, 4 the system failed.\n\n"
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
    return hr_fail(error, HR_BAD_INPUT, "--shard %.60s: I/N is wanted, with I from 1 to N, as in 2/3", text);
  config->shard = (uint32_t)shard;
  config->n_shards = (uint32_t)count;
  return HR_OK;
}

/* "demo.sqlite" for "scenarios/sweeps/demo.json". */
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

/* A job of several ranks has one for each processor, as a rule. */
static uint32_t count_sweep_threads(uint64_t asked) {
  bool launched = getenv("OMPI_COMM_WORLD_RANK") || getenv("PMI_RANK") || getenv("PMIX_RANK");
  return asked == 0 && launched ? 1 : count_threads(asked);
}

/* ---- Telling ---------------------------------------------------------------------------------------- */

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

static enum hr_status tell(const char *file, const char *csv, bool quiet, const struct hr_sweep_counts *counts,
                           struct hr_error *error) {
  enum hr_status status = csv ? hr_sweep_write_csv(csv, file, error) : HR_OK;
  if (status != HR_OK || quiet) return status;
  for (size_t i = 0; i < counts->notes.count; i++) fprintf(stderr, "note: %s\n", counts->notes.text[i]);
  return is_stdout(csv) ? HR_OK : hr_sweep_print(stdout, file, counts, wants_colour(), error);
}

/* ---- sweep ------------------------------------------------------------------------------------------ */

static enum hr_status sweep_into(const struct sweep_args *args, const char *grid, const char *file,
                                 struct hr_error *error) {
  struct progress_bar bar;
  struct hr_sweep_counts counts = {0};
  bool leads = hr_sweep_leads();
  struct hr_sweep_config config = {
      .grid = grid, .file = file, .max_runs = args->max_runs, .n_threads = count_sweep_threads(args->threads)};
  const struct output outputs[] = {{"db", file}, {"csv", args->csv}, {"report", args->page.report}};
  struct page page = {0};
  enum hr_status status = parse_shard(args->shard, &config, error);
  if (status == HR_OK) status = page_prepare(&page, &args->page, error);
  if (status == HR_OK) status = outputs_check(outputs, sizeof outputs / sizeof *outputs, &grid, 1, error);
  if (status == HR_OK && is_stdout(file)) status = hr_fail(error, HR_BAD_INPUT, "--db -: a file is wanted");
  if (status != HR_OK) return leads ? status : HR_OK; /* the first rank tells it */
  config.progress = progress_bar_start(&bar, leads && !args->quiet);
  status = hr_sweep(&config, &counts, error);
  progress_bar_stop(&bar);
  if (!leads) status = HR_OK; /* likewise */
  if (status == HR_OK && leads && args->page.report) status = write_page(&page, grid, file, &counts, error);
  bool quiet = args->quiet || is_stdout(args->page.report);
  if (status == HR_OK && leads) status = tell(file, args->csv, quiet, &counts, error);
  page_finish(&page);
  hr_notes_finish(&counts.notes);
  return status;
}

static enum hr_status run_sweep(const void *args, const struct words *operands, struct hr_error *error) {
  const struct sweep_args *given = args;
  char *made = given->db ? NULL : default_file(operands->at[0]);
  if (!given->db && !made) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  enum hr_status status = sweep_into(given, operands->at[0], given->db ? given->db : made, error);
  free(made);
  return status;
}

static void set_command(void *args, const struct command *command) {
  ((struct sweep_args *)args)->page.command = *command;
}

const struct verb verb_sweep = {.name = "sweep",
                                .operands = "GRID",
                                .min_operands = 1,
                                .max_operands = 1,
                                .summary = "run a scenario under many settings, into a SQLite file",
                                .details = sweep_details,
                                .options = sweep_options,
                                .args_bytes = sizeof(struct sweep_args),
                                .set_command = set_command,
                                .run = run_sweep};

/* ---- merge ------------------------------------------------------------------------------------------ */

struct merge_args {
  const char *csv;
  bool quiet;
};

static const struct option merge_options[] = {
    {.name = "csv",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct merge_args, csv),
     .value = "FILE",
     .help = "write the new file's runs as CSV, too ('-': standard output, and no table)"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct merge_args, quiet),
     .help = "no table; errors are still told"},
    {0}};

static const char merge_details[] = "Puts the runs of files of one sweep together. OUT is made, or replaced if it is\n"
                                    "a sweep's file. Grid, scenario, trace and version must be the same; a run that\n"
                                    "two files hold must be the same in both. Where runs are missing, OUT is written\n"
                                    "all the same, and headroom sweep GRID --db OUT makes them.\n"
                                    "Exit code: 0 fine, 1 runs are missing, 2 bad input or usage (nothing is\n"
                                    "written), 4 the system failed.\n\n"
                                    "Example:\n"
                                    "  headroom merge demo.sqlite part1.sqlite part2.sqlite part3.sqlite\n";

static enum hr_status run_merge(const void *args, const struct words *operands, struct hr_error *error) {
  const struct merge_args *given = args;
  const char *file = operands->at[0];
  const struct output outputs[] = {{"csv", given->csv}};
  struct hr_sweep_counts counts;
  enum hr_status status =
      outputs_check(outputs, sizeof outputs / sizeof *outputs, operands->at, operands->count, error);
  if (status == HR_OK) status = hr_sweep_merge(file, operands->at + 1, operands->count - 1, &counts, error);
  if (status == HR_OK) status = tell(file, given->csv, given->quiet, &counts, error);
  if (status == HR_OK && counts.missing)
    status =
        hr_fail(error, HR_CHECK_FAILED, "%s: %" PRIu64 " of %" PRIu64 " runs are missing, the first is run %" PRIu64,
                file, counts.missing, counts.runs, counts.first_missing);
  return status;
}

const struct verb verb_merge = {.name = "merge",
                                .operands = "OUT SHARD...",
                                .min_operands = 2,
                                .max_operands = SIZE_MAX,
                                .summary = "put the files of a sweep's shards into one",
                                .details = merge_details,
                                .options = merge_options,
                                .args_bytes = sizeof(struct merge_args),
                                .run = run_merge};
