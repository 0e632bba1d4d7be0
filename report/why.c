/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "headroom/why.h"

#include "report/text.h"
#include "report/why_print.h"

#include <stdlib.h>

/* What the answer is about: "where the waiting time of all jobs went". */
static void put_subject(struct hr__console *console, const struct hr_why *why, const struct hr_why_question *question,
                        const struct hr__why_sums *sums) {
  char number[HR__NUMBER_BYTES];
  size_t slowest = sums->n_jobs < question->slowest ? sums->n_jobs : question->slowest;
  if (question->only_slowest && slowest == 1) {
    fprintf(console->out, "the job that waited longest");
  } else if (question->only_slowest) {
    fprintf(console->out, "the %s%sjobs that waited longest", slowest ? hr__count_text(slowest, number) : "",
            slowest ? " " : "");
  } else if (question->of_tenant && question->tenant != HR_NONE) {
    char *tenant = hr__fitted(console, why->trace->tenants.text[question->tenant], HR__LINE_WIDTH - 40, false);
    if (tenant) fprintf(console->out, "where the waiting time of tenant %s went", tenant);
    free(tenant);
  } else {
    fprintf(console->out, "where the waiting time of %s went",
            question->of_tenant ? "jobs without a tenant" : "all jobs");
  }
}

static void put_title(struct hr__console *console, const struct hr_why *why, const struct hr_why_question *question,
                      const struct hr__why_sums *sums) {
  char *name = hr__fitted(console, why->scenario ? why->scenario : "", HR__LINE_WIDTH - 20, false);
  if (!name) return;
  fprintf(console->out, "%sHeadroom %s%s%s%s\n\n  ", hr__bold(console), hr_version(), *name ? ": " : "", name,
          hr__plain(console));
  put_subject(console, why, question, sums);
  fprintf(console->out, "\n%s", question->only_slowest && sums->all.all_us > 0 ? "" : "\n");
  free(name);
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
    put_title(&console, why, question, &sums);
    if (sums.all.all_us == 0)
      hr__why_print_nobody(&console, &sums);
    else if (!question->only_slowest)
      hr__why_print_sums(&console, &sums, question->of_tenant);
    hr__why_print_slowest(&console, why, &sums, question->slowest);
  }
  hr__why_sums_finish(&sums);
  if (status != HR_OK || console.out_of_memory) return HR_NO_MEMORY;
  return ferror(out) ? HR_IO_ERROR : HR_OK;
}
