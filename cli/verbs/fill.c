/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom fill`: submits pods of a trace until the cluster is full, and reports how many GPUs each placement rule
   allocates. */

#include "cli/cli.h"
#include "headroom/unstable/planning.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SEEDS = 10 };
static const double default_to = 1.3;

struct fill_args {
  struct input_args input;
  const char *policies, *json, *csv, *markdown;
  uint64_t seeds, threads; /* 0: not set */
  double to;               /* 0: not set */
  bool quiet;
};

#define AT(field) offsetof(struct fill_args, field)
static const struct option options[] = {
    {"policies", OPTION_TEXT, AT(policies), "A,B,...", "placement rules (see 'headroom list placements')"},
    {"seeds", OPTION_WHOLE, AT(seeds), "N",
     "runs of each rule, with consecutive seeds that begin with the scenario's (default: 10)", 1, HR_MAX_FILL_SEEDS},
    {"to", OPTION_REAL, AT(to), "X", "submit pods until they have requested X times the cluster's GPUs (default: 1.3)",
     0.01, HR_MAX_FILL_TO},
    THREADS_OPTION(fill_args),
    {"csv", OPTION_TEXT, AT(csv), "FILE",
     "write a CSV row for each rule, seed and 1 % step of requested GPUs ('-': standard output, without the "
     "table)"},
    {"json", OPTION_TEXT, AT(json), "FILE",
     "write the means over all seeds, for each 1 % step of requested GPUs, as JSON ('-': standard output)"},
    {"md", OPTION_TEXT, AT(markdown), "FILE", "write the table as Markdown ('-': standard output)"},
    QUIET_OPTION(fill_args),
    INPUT_OPTIONS(fill_args),
    {0}};

static const char details[] = "Pods are drawn from the trace with replacement, shuffled, and submitted one by\n"
                              "one. No pod ends; a pod that does not fit fails. With one seed all rules receive\n"
                              "the same pods. docs/researcher/fill.md describes the rules.\n"
                              "Files are written only if all runs succeed. Exit code: 0 success, 2 bad input or\n"
                              "usage, 4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom fill scenarios/openb.json --trace openb_pod_list_default.csv \\\n"
                              "    --policies fgd,weighted-best-fit,random --csv fill.csv\n"
                              "  headroom fill scenarios/demo.json --policies best-fit,spread --seeds 3 --to 1\n";

struct fill {
  const struct fill_args *args;
  struct input input;
  const struct hr_packing_rule **rules;
  uint32_t n_rules;
  struct hr_fill *result;
  struct hr_perf perf;
};

/* ---- The list of rules ------------------------------------------------------------------------------ */

static enum hr_status add_rule(struct fill *fill, const char *name, struct hr_error *error) {
  const char *list = fill->args->policies;
  if (!name[0]) return hr_fail(error, HR_BAD_INPUT, "--policies %.200s: empty rule name", list);
  struct hr_error inner = {0};
  const struct hr_packing_rule *rule = hr_packing_rule_find(name, &inner);
  if (!rule) return hr_fail(error, HR_BAD_INPUT, "--policies %.200s: %s", list, inner.text);
  for (uint32_t i = 0; i < fill->n_rules; i++)
    if (fill->rules[i] == rule)
      return hr_fail(error, HR_BAD_INPUT, "--policies %.200s: %s is listed twice", list, rule->name);
  fill->rules[fill->n_rules++] = rule;
  return HR_OK;
}

static enum hr_status split_rules(struct fill *fill, struct hr_error *error) {
  const char *text = fill->args->policies;
  if (!text) return hr_fail(error, HR_BAD_INPUT, "fill: --policies A,B,... is missing\nTry 'headroom help fill'.");
  fill->rules = calloc(count_parts(text), sizeof(*fill->rules));
  if (!fill->rules) return no_memory(error);
  for (;;) {
    size_t length = strcspn(text, ",");
    char *name = strndup(text, length);
    enum hr_status status = name ? add_rule(fill, name, error) : no_memory(error);
    free(name);
    if (status != HR_OK || text[length] == '\0') return status;
    text += length + 1;
  }
}

/* ---- Running ---------------------------------------------------------------------------------------- */

static enum hr_status run_fill(struct fill *fill, struct hr_error *error) {
  struct progress_bar bar;
  struct hr_fill_config config = {.scenario = fill->input.scenario,
                                  .trace = fill->input.trace,
                                  .rules = fill->rules,
                                  .n_rules = fill->n_rules,
                                  .n_seeds = fill->args->seeds ? (uint32_t)fill->args->seeds : DEFAULT_SEEDS,
                                  .to = fill->args->to > 0 ? fill->args->to : default_to,
                                  .n_threads = count_threads(fill->args->threads),
                                  .progress = progress_bar_start(&bar, !fill->args->quiet)};
  progress_bar_count(&bar, fill->input.trace->n_jobs, false);
  double begin_s = clock_s();
  enum hr_status status = hr_fill(&config, &fill->result, error);
  fill->perf = input_perf(&fill->input, begin_s);
  progress_bar_stop(&bar);
  return status;
}

/* ---- Output ----------------------------------------------------------------------------------------- */

static enum hr_status print_results(const struct fill *fill, struct hr_error *error) {
  const struct fill_args *args = fill->args;
  enum hr_status status = args->csv ? hr_fill_write_csv(args->csv, fill->result, error) : HR_OK;
  if (status == HR_OK && args->markdown) status = hr_fill_write_markdown(args->markdown, fill->result, error);
  if (status == HR_OK && args->json) status = hr_fill_write_json(args->json, fill->result, &fill->perf, error);
  if (status != HR_OK || args->quiet) return status;
  input_print_notes(stderr, &fill->input);
  if (is_stdout(args->json) || is_stdout(args->csv) || is_stdout(args->markdown)) return HR_OK;
  status = hr_fill_print(stdout, fill->result, &fill->perf, wants_colour());
  if (status == HR_OK)
    next_step_print(stdout, &(struct next_step){.verb = "fill",
                                                .path = fill->input.scenario->path,
                                                .input = &args->input,
                                                .other = args->policies});
  return printed(status, "table", error);
}

/* ---- The verb --------------------------------------------------------------------------------------- */

static enum hr_status run_all(struct fill *fill, const char *path, struct hr_error *error) {
  const struct fill_args *args = fill->args;
  const struct output outputs[] = {{"csv", args->csv}, {"md", args->markdown}, {"json", args->json}};
  enum hr_status status = split_rules(fill, error);
  if (status == HR_OK) status = input_open(&fill->input, path, &fill->args->input, error);
  if (status == HR_OK)
    status = input_check_outputs(&fill->input, path, outputs, sizeof outputs / sizeof *outputs, error);
  fill->input.untimed = true;
  if (status == HR_OK) status = input_read_trace(&fill->input, &fill->args->input, error);
  if (status == HR_OK) status = run_fill(fill, error);
  return status == HR_OK ? print_results(fill, error) : status;
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  struct fill fill = {.args = args};
  enum hr_status status = run_all(&fill, operands->at[0], error);
  hr_fill_destroy(fill.result);
  free(fill.rules);
  input_finish(&fill.input);
  return status;
}

const struct verb verb_fill = {.name = "fill",
                               .operands = "SCENARIO",
                               .summary =
                                   "submit pods of a trace until the cluster is full, with several placement rules",
                               .details = details,
                               .options = options,
                               .args_bytes = sizeof(struct fill_args),
                               .run = run_verb};
