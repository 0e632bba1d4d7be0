/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "headroom/why.h"

#include "report/why_print.h"

#include <stdlib.h>

static void put_title(struct hr__console *console, const struct hr_why *why, const struct hr_why_question *question) {
  bool of_tenant = question->of_tenant && question->tenant != HR_NONE;
  char *name = hr__fitted(console, why->scenario ? why->scenario : "", HR__LINE_WIDTH - 20, false);
  char *tenant =
      hr__fitted(console, of_tenant ? why->trace->tenants.text[question->tenant] : "", HR__LINE_WIDTH - 40, false);
  if (name && tenant)
    fprintf(console->out, "%sHeadroom %s%s%s%s\n\n%swhere the waiting time of %s%s went\n%s", hr__bold(console),
            hr_version(), *name ? ": " : "", name, hr__plain(console), "  ", of_tenant ? "tenant " : "all jobs", tenant,
            question->only_slowest ? "" : "\n");
  free(name);
  free(tenant);
}

enum hr_status hr_why_print(FILE *out, const struct hr_why *why, const struct hr_why_question *question, bool colour) {
  struct hr__console console = {.out = out, .colour = colour};
  struct hr__why_sums sums;
  if (question->job.id != HR_NONE) {
    hr__why_print_job(&console, why, question->job);
    return console.out_of_memory ? HR_NO_MEMORY : ferror(out) ? HR_IO_ERROR : HR_OK;
  }
  enum hr_status status = hr__why_add_up(why, question, &sums);
  if (status == HR_OK) {
    put_title(&console, why, question);
    if (!question->only_slowest) hr__why_print_sums(&console, &sums, question->of_tenant);
    hr__why_print_slowest(&console, why, &sums, question->slowest);
  }
  hr__why_sums_finish(&sums);
  if (status != HR_OK || console.out_of_memory) return HR_NO_MEMORY;
  return ferror(out) ? HR_IO_ERROR : HR_OK;
}
