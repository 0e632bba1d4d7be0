/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Suggests the command that is useful after a command, by a table of rules. The rules of the verb that has run are
 * examined in order. The first rule of which all facts are true applies.
 *
 * In a suggested command, %p is the path and the input options of the command that has run, so that both commands use
 * the same jobs, cluster and policy; %t is the trace with the options for reading it; %n is an option --own for the
 * nodes of each pool; %o is `other` of struct next_step; %r is the option --replications, if it was set. The reason for
 * the suggestion follows as a shell comment, so that the whole line can be pasted into a shell.
 */

#include "cli/input.h"

#include "cli/process.h"

#include <inttypes.h>
#include <string.h>

static const struct next_rule {
  const char *verb;
  unsigned facts;
  const char *command, *reason;
} rules[] = {{"run", NEXT_REJECTS, "trace check %t --cluster %p", "finds the jobs that no pool can run"},
             {"run", NEXT_WAITS, "why %p", "shows why jobs wait"},
             {"run", NEXT_PLANNED, "plan %p", "finds the cheapest capacity for the goals"},
             {"run", NEXT_IDLE, "advise %p", "finds savings"},
             {"run", NEXT_UNPRICED, "init --from %t%n --cloud aws -o priced.json", "drafts a plan with cloud prices"},
             {"run", 0, "report %p", "writes an HTML page"},
             {"why", NEXT_PLANNED, "plan %p", "finds the cheapest capacity for the goals"},
             {"why", 0, "compare %p --policies fifo,sjf,conservative", "tries other policies"},
             {"compare", NEXT_EXACT,
              "compare %p --policies %o --replications 5 --set 'replications.workload={\"resample\":\"days\"}'",
              "shows whether the difference is due to chance"},
             {"compare", 0, "compare %p --policies %o%r --report compare.html", "writes an HTML page"},
             {"diff", 0, "why %p", "shows why jobs wait after the change"},
             {"plan", NEXT_FAILED, "why %p", "shows what jobs wait for"},
             {"plan", NEXT_BRIEF, "plan %p", "adds the what-ifs"},
             {"plan", NEXT_LONG, "plan %p --forecast 3", "plans for the next 3 months"},
             {"plan", 0, "plan %p --report plan.html", "writes an HTML page"},
             {"advise", NEXT_PLANNED, "plan %p", "finds the cheapest capacity for the goals"},
             {"advise", 0, "report %p", "writes an HTML page"},
             {"tco", NEXT_PLANNED, "plan %p", "finds the cheapest capacity for the goals"},
             {"tco", 0, "tco %p --report tco.html", "writes an HTML page"},
             {"check", NEXT_FAILED, "check %p --baseline %o --json check.json", "lists every metric"},
             {"check", 0, "check %p --baseline %o --junit check.xml", "for CI"},
             {"sweep", NEXT_FAILED, "merge all.sqlite %o SHARD...", "merges the files of all shards"},
             {"sweep", 0, "sweep %p --db %o --report sweep.html", "writes an HTML page"},
             {"fill", 0, "fill %p --policies %o --csv fill.csv", "for plots"},
             {"forecast", 0, "plan SCENARIO --trace %t --forecast 3", "finds what to buy for it"},
             {"validate", 0, "run %p", "replays the trace"},
             {"init", NEXT_REJECTS, "trace check %t --cluster %p", "finds the jobs that no pool can run"},
             {"init", 0, "run %p", "replays the trace"},
             {"trace check", 0, "init --from %t -o mine.json", "drafts a scenario"},
             {"trace stats", 0, "init --from %t -o mine.json", "drafts a scenario"}};

/* ---- Writing ---------------------------------------------------------------------------------------- */

/* Writes a word so that a shell reads it as one word. Control characters become '?'. */
static void write_word(FILE *out, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";
  bool is_plain = word[0] && strspn(word, plain) == strlen(word);
  if (!is_plain) fputc('\'', out);
  for (; *word; word++) {
    unsigned char byte = (unsigned char)*word;
    if (byte == '\'')
      fputs("'\\''", out);
    else
      fputc(byte < 0x20 || byte == 0x7f ? '?' : byte, out);
  }
  if (!is_plain) fputc('\'', out);
}

static void write_option(FILE *out, const char *name, const char *value) {
  if (!value) return;
  fprintf(out, " --%s ", name);
  write_word(out, value);
}

static void write_trace_options(FILE *out, const struct input_args *input) {
  if (!input) return;
  write_option(out, "format", input->format);
  write_option(out, "map", input->map);
  for (size_t i = 0; i < input->classes.count; i++) write_option(out, "class", input->classes.at[i]);
  for (size_t i = 0; i < input->tenants.count; i++) write_option(out, "tenant-by", input->tenants.at[i]);
  if (input->lenient) fputs(" --lenient", out);
}

static void write_input_options(FILE *out, const struct input_args *input) {
  if (!input) return;
  write_option(out, "trace", input->trace);
  write_trace_options(out, input);
  write_option(out, "policy", input->policy);
  for (size_t i = 0; i < input->set.count; i++) write_option(out, "set", input->set.at[i]);
  write_option(out, "seed", input->seed);
}

/* Writes the nodes of a cluster as `headroom init` reads them. */
static void write_nodes(FILE *out, const struct hr_cluster_spec *cluster) {
  char own[200];
  for (uint32_t i = 0; cluster && i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (!pool->nodes || !pool->gpus_per_node || strlen(pool->gpu) > 100) continue;
    snprintf(own, sizeof own, "%" PRIu32 "x%" PRIu32 "x%s", pool->nodes, (uint32_t)pool->gpus_per_node, pool->gpu);
    write_option(out, "own", own);
  }
}

static void write_command(FILE *out, const char *command, const struct next_step *step) {
  for (; *command; command++) {
    if (*command != '%') {
      fputc(*command, out);
      continue;
    }
    char what = *++command;
    if (what == 'n') {
      write_nodes(out, step->cluster);
      continue;
    }
    if (what == 'r') {
      if (step->replications) fprintf(out, " --replications %" PRIu64, step->replications);
      continue;
    }
    const char *word = what == 'p' ? step->path : what == 't' ? step->trace : step->other;
    write_word(out, word ? word : "FILE");
    if (what == 'p') write_input_options(out, step->input);
    if (what == 't') write_trace_options(out, step->input);
  }
}

void next_step_print(FILE *out, const struct next_step *step) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    const struct next_rule *rule = &rules[i];
    if (strcmp(rule->verb, step->verb) != 0 || (rule->facts & ~step->facts)) continue;
    bool colour = wants_colour();
    fprintf(out, "%s  %snext%s       headroom ", step->apart ? "\n" : "", colour ? "\033[2m" : "",
            colour ? "\033[0m" : "");
    write_command(out, rule->command, step);
    fprintf(out, "  # %s\n", rule->reason);
    return;
  }
}

unsigned next_facts_of(const struct input *input) {
  enum { DAYS = 5, WEEKS = 6 };
  const int64_t day_us = 86400 * HR_SECOND_US;
  const struct hr_trace *trace = input->trace;
  int64_t span_us = trace && trace->n_jobs ? trace->submit_us[trace->n_jobs - 1] : 0;
  unsigned facts = input->scenario->plan ? NEXT_PLANNED : 0;
  if (!hr_scenario_has_prices(input->scenario)) facts |= NEXT_UNPRICED;
  if (span_us >= DAYS * day_us && !hr_scenario_is_random(input->scenario)) facts |= NEXT_EXACT;
  if (span_us >= WEEKS * 7 * day_us) facts |= NEXT_LONG;
  return facts;
}
