/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What replications tell, for a person: a figure a row, its estimate and its interval. 80 columns wide. */

#include "headroom/compare.h"
#include "plan/figures.h"
#include "plan/replicating.h"
#include "report/console.h"
#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH = 30, CELL_WIDTH = 15 };

static const enum hr__measure shown[] = {HR__M_WAIT_MEAN,     HR__M_WAIT_P95,     HR__M_WAIT_P99,  HR__M_JCT_MEAN,
                                         HR__M_SLOWDOWN_MEAN, HR__M_BUSY_SUBMITS, HR__M_COMPLETED, HR__M_DEADLINE_MISS,
                                         HR__M_RECLAIMS,      HR__M_LOST,         HR__M_COST,      HR__M_MONTHLY,
                                         HR__M_PER_JOB};

struct page {
  struct hr__console console;
  const struct hr_replicates *replicates;
};

static void put_row(struct page *page, size_t figure) {
  const struct hr__figure *self = &page->replicates->figures[figure];
  struct hr__interval interval;
  char name[HR__FIGURE_NAME_BYTES], text[4][HR__FIGURE_BYTES];
  if (hr__replicates_interval(page->replicates, figure, &interval) != HR_OK) {
    page->console.out_of_memory = true;
    return;
  }
  if (interval.count == 0) return;
  enum hr__unit unit = hr__measure_infos[self->measure].unit;
  char *fitted = hr__fitted(&page->console, hr__figure_name(self, name), NAME_WIDTH, false);
  if (!fitted) return;
  fprintf(page->console.out, "  %-*s%*s%*s%*s\n", NAME_WIDTH, fitted, CELL_WIDTH,
          hr__figure_text(unit, hr__interval_centre(&interval), text[0]), CELL_WIDTH,
          hr__figure_text(unit, interval.low, text[1]), CELL_WIDTH, hr__figure_text(unit, interval.high, text[2]));
  free(fitted);
}

static void put_head(struct page *page) {
  const struct hr_replicates *replicates = page->replicates;
  const struct hr_replication_spec *spec = replicates->config.spec;
  struct hr__console *console = &page->console;
  char *name = hr__fitted(console, replicates->config.scenario->name, HR__LINE_WIDTH - 20, false);
  if (!name) return;
  fprintf(console->out, "%sHeadroom %s: %s%s\n\n", hr__bold(console), hr_version(), name, hr__plain(console));
  free(name);
  hr__put_field(console, "trace", "%s (%s)", replicates->config.trace->source, replicates->config.trace->format);
  hr__put_field(console, "runs", "%" PRIu32 " replication%s, from seed %" PRIu64 " on", replicates->count,
                replicates->count == 1 ? "" : "s", replicates->config.scenario->seed);
  if (spec->workload.blocks != HR_BLOCKS_NONE || spec->workload.growth != 1)
    hr__put_field(console, "workload", "drawn again from %s of the trace, %.6g times the demand",
                  spec->workload.blocks == HR_BLOCKS_NONE ? "the whole" : hr_blocks_name(spec->workload.blocks),
                  spec->workload.growth);
  fprintf(console->out, "\n%s  %-*s%*s%*s%*s%s\n", hr__bold(console), NAME_WIDTH, "", CELL_WIDTH, "estimate",
          CELL_WIDTH, "from", CELL_WIDTH, "to", hr__plain(console));
}

enum hr_status hr_replicates_print(FILE *out, const struct hr_replicates *replicates, const struct hr_perf *perf,
                                   bool colour) {
  struct page page = {.console = {.out = out, .colour = colour}, .replicates = replicates};
  char text[HR__NUMBER_BYTES];
  put_head(&page);
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) put_row(&page, shown[i]);
  for (size_t i = HR__N_MEASURES; i < replicates->n_figures; i++) {
    const struct hr__figure *figure = &replicates->figures[i];
    if (figure->of == HR__OF_CLASS && figure->measure == HR__M_WAIT_P95) put_row(&page, i);
  }
  fputc('\n', out);
  hr__put_field(&page.console, "read",
                "means with Student's intervals, quantiles as medians over replications with "
                "intervals from order statistics; confidence %.6g",
                replicates->config.spec->confidence);
  if (perf && perf->sim_s > 0)
    hr__put_field(&page.console, "speed", "%" PRIu32 " runs in %s s on %" PRIu32 " threads", replicates->count,
                  hr__fixed_text(perf->sim_s, 2, text), replicates->config.n_threads);
  if (page.console.out_of_memory) return HR_NO_MEMORY;
  return ferror(out) ? HR_IO_ERROR : HR_OK;
}
