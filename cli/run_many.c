/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/run_many.h"

#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/progress.h"

#include <inttypes.h>

bool wants_many(const struct hr_scenario *scenario) {
  return scenario->replications.count > 1 || scenario->replications.metric.text;
}

enum hr_status add_replications(struct overrides *overrides, const char *value, struct hr_error *error) {
  uint64_t count;
  if (!value) return HR_OK;
  if (value[0] == '{') return overrides_add(overrides, "replications", value, error);
  if (!parse_whole(value, &count) || count < 1 || count > HR_MAX_REPLICATIONS)
    return hr_fail(error, HR_BAD_INPUT,
                   "--replications %.200s: a whole number from 1 to %d is wanted, or a precision such as "
                   "{\"metric\":\"wait_s.p95\",\"relative\":0.05}",
                   value, HR_MAX_REPLICATIONS);
  return overrides_add(overrides, "replications.count", value, error);
}

enum hr_status run_many(const struct input *input, const struct many_args *args, struct hr_error *error) {
  struct progress_bar bar;
  struct hr_replicates *replicates;
  struct hr_replicate_config config = {.scenario = input->scenario,
                                       .overrides = input->overrides.words.at,
                                       .n_overrides = input->overrides.words.count,
                                       .trace = input->trace,
                                       .spec = &input->scenario->replications,
                                       .n_threads = count_threads(args->threads),
                                       .progress = progress_bar_start(&bar, !args->quiet)};
  double begin_s = clock_s();
  enum hr_status status = hr_replicate(&config, &replicates, error);
  struct hr_perf perf = {.load_s = input->load_s, .sim_s = clock_s() - begin_s, .peak_rss_mib = peak_rss_mib()};
  progress_bar_stop(&bar);
  if (status == HR_OK && args->json) status = hr_replicates_write_json(args->json, replicates, &perf, error);
  if (status == HR_OK && !args->quiet) {
    const struct hr_notes *notes = hr_replicates_notes(replicates);
    input_print_notes(stderr, input);
    for (size_t i = 0; i < notes->count; i++) fprintf(stderr, "note: %s\n", notes->text[i]);
    if (!is_stdout(args->json)) status = hr_replicates_print(stdout, replicates, &perf, wants_colour());
    if (status != HR_OK) hr_fail(error, status, "the table cannot be printed: %s", hr_status_meaning(status));
  }
  hr_replicates_destroy(replicates);
  return status;
}
