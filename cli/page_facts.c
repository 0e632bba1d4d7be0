/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the first lines of an HTML report need besides the run: goals, prices and the largest saving. */

#include "cli/run_files.h"

#include "cli/process.h"

#include <stdlib.h>
#include <string.h>

/* ---- Commands --------------------------------------------------------------------------------------- */

/* Characters that need no quotes in a shell. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

/* Copies a word in single quotes, and returns the end of the copy. Within single quotes only the quote itself needs
   escaping: the quoted text is ended, an escaped quote follows, and the quoted text begins again. */
static char *put_quoted(char *at, const char *word) {
  *at++ = '\'';
  for (; *word; word++) {
    if (*word == '\'')
      at = stpcpy(at, "'\\''");
    else
      *at++ = *word;
  }
  *at++ = '\'';
  return at;
}

char *shell_command(const char *const *words, size_t count) {
  enum { QUOTED = 4 };
  size_t bytes = 1;
  for (size_t i = 0; i < count; i++) bytes += QUOTED * strlen(words[i]) + 3;
  char *text = malloc(bytes), *at = text;
  if (!text) return NULL;
  for (size_t i = 0; i < count; i++) {
    if (i) *at++ = ' ';
    at = words[i][0] && words[i][strspn(words[i], plain)] == '\0' ? stpcpy(at, words[i]) : put_quoted(at, words[i]);
  }
  *at = '\0';
  return text;
}

/* Returns "headroom VERB SCENARIO ..." with the options of the input and further overrides. NULL when out of memory. */
static char *command_of(const struct input *input, const char *verb, const char *const *more, size_t n_more) {
  const struct words *set = &input->overrides.words;
  const char **words = calloc(9 + 2 * (set->count + n_more), sizeof *words);
  const char *own = input->scenario->trace_file;
  size_t count = 0;
  if (!words) return NULL;
  words[count++] = "headroom";
  words[count++] = verb;
  words[count++] = input->scenario->path;
  if (input->trace_path && (!own || strcmp(own, input->trace_path) != 0)) {
    words[count++] = "--trace";
    words[count++] = input->trace_path;
  }
  if (input->format && strcmp(input->format, "auto") != 0 &&
      strcmp(input->format, input->scenario->trace_format) != 0) {
    words[count++] = "--format";
    words[count++] = input->format;
  }
  for (size_t i = 0; i < set->count + n_more; i++) {
    words[count++] = "--set";
    words[count++] = i < set->count ? set->at[i] : more[i - set->count];
  }
  char *text = shell_command(words, count);
  free(words);
  return text;
}

/* ---- Facts ------------------------------------------------------------------------------------------ */

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the report");
}

/* Goals that cannot be parsed are an error of `headroom plan`. The report is written without them, with a note. */
static enum hr_status find_goals(struct page_facts *facts, const struct hr_replay *replay, struct hr_error *error) {
  struct hr_error inner = {0};
  enum hr_status status = hr_goals_of_run(replay->config.scenario, replay->config.trace, replay->summary,
                                          &facts->results, &facts->n_results, &inner);
  if (status == HR_BAD_INPUT)
    return hr_notes_add(&facts->notes, "the goals of the plan are not shown: %s", inner.text) == HR_OK
               ? HR_OK
               : no_memory(error);
  if (status != HR_OK) return no_memory(error);
  facts->goals = calloc(facts->n_results + 1, sizeof *facts->goals);
  for (size_t i = 0; facts->goals && i < facts->n_results; i++)
    facts->goals[i] = (struct hr_page_goal){facts->results[i].text, facts->results[i].value, facts->results[i].met};
  return facts->goals ? HR_OK : no_memory(error);
}

static enum hr_status find_prices(struct page_facts *facts, const struct hr_scenario *scenario,
                                  struct hr_error *error) {
  const struct hr_cluster_spec *cluster = &scenario->cluster;
  facts->prices = calloc((size_t)cluster->n_pools + 1, sizeof *facts->prices);
  if (!facts->prices) return no_memory(error);
  for (uint32_t i = 0; scenario->pool_sources && i < cluster->n_pools; i++) {
    const struct hr_pool_source *source = &scenario->pool_sources[i];
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (!source->status || pool->nodes == 0) continue;
    facts->prices[facts->n_prices++] = (struct hr_page_price){.pool = pool->name,
                                                              .market = hr_market_name(pool->market.market),
                                                              .status = source->status,
                                                              .as_of = source->as_of,
                                                              .source = source->source,
                                                              .uusd_per_gpu_hour = pool->market.price_uusd_h};
  }
  return HR_OK;
}

/* Stores the advised change that saves most, which is the first of the advice. */
static enum hr_status take_best(struct page_facts *facts, const struct input *input, struct hr_error *error) {
  struct hr_page_saving *saving = &facts->saving;
  struct hr_advice_item item;
  while (hr_advice_item(facts->advice, saving->n_examined, &item)) saving->n_examined++;
  if (!hr_advice_item(facts->advice, 0, &item) || !item.advised) return HR_OK;
  saving->command = facts->saving_command = command_of(input, "run", item.set, item.n_set);
  if (!saving->command) return no_memory(error);
  saving->usd_per_month = -item.monthly_usd.mean;
  saving->pool = item.pool;
  saving->class_ = item.class_;
  saving->from = item.from;
  saving->to = item.to;
  return HR_OK;
}

static enum hr_status find_saving(struct page_facts *facts, const struct input *input, struct hr_error *error) {
  const struct hr_advise_config config = {.scenario = input->scenario,
                                          .overrides = input->overrides.words.at,
                                          .n_overrides = input->overrides.words.count,
                                          .trace = input->trace,
                                          .n_threads = count_threads(0)};
  if (!hr_scenario_has_prices(input->scenario)) return HR_OK;
  facts->saving.advise_command = facts->advise_command = command_of(input, "advise", NULL, 0);
  if (!facts->advise_command) return no_memory(error);
  facts->saving.is_searched = input->trace->n_jobs <= PAGE_MAX_ADVISED_JOBS;
  if (!facts->saving.is_searched) return HR_OK;
  enum hr_status status = hr_advise(&config, &facts->advice, error);
  return status == HR_OK ? take_best(facts, input, error) : status;
}

/* The command that runs the scenario with the pools of another scenario, which the plan has chosen. */
static enum hr_status find_mix_command(struct page_facts *facts, const struct input *input,
                                       const struct hr_scenario *chosen, struct hr_error *error) {
  enum { BYTES = 60 };
  const struct hr_cluster_spec *from = &input->scenario->cluster, *to = &chosen->cluster;
  char(*texts)[BYTES] = calloc((size_t)to->n_pools + 1, sizeof *texts);
  const char **set = calloc((size_t)to->n_pools + 1, sizeof *set);
  size_t count = 0;
  for (uint32_t i = 0; texts && set && i < to->n_pools && i < from->n_pools; i++) {
    if (to->pools[i].nodes == from->pools[i].nodes) continue;
    snprintf(texts[count], BYTES, "cluster.pools.%u.nodes=%u", (unsigned)i, (unsigned)to->pools[i].nodes);
    set[count] = texts[count];
    count++;
  }
  if (texts && set) facts->saving.command = facts->saving_command = command_of(input, "run", set, count);
  free(texts);
  free(set);
  return facts->saving_command ? HR_OK : no_memory(error);
}

enum hr_status page_facts_make(struct page_facts *facts, const struct input *input, const struct hr_replay *replay,
                               struct hr_error *error) {
  enum hr_status status = find_goals(facts, replay, error);
  if (status == HR_OK) status = find_prices(facts, replay->config.scenario, error);
  if (status != HR_OK || !input) return status;
  bool is_chosen = replay->config.scenario != input->scenario;
  return is_chosen ? find_mix_command(facts, input, replay->config.scenario, error) : find_saving(facts, input, error);
}

void page_facts_show(const struct page_facts *facts, struct hr_page *page) {
  page->goals = facts->goals;
  page->n_goals = facts->goals ? facts->n_results : 0;
  page->prices = facts->prices;
  page->n_prices = facts->n_prices;
  page->saving = &facts->saving;
}

void page_facts_finish(struct page_facts *facts) {
  hr_goal_results_free(facts->results, facts->n_results);
  free(facts->goals);
  free(facts->prices);
  hr_advice_destroy(facts->advice);
  free(facts->advise_command);
  free(facts->saving_command);
  hr_notes_finish(&facts->notes);
}
