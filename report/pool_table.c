/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pools side by side: what each had of the jobs, how long they held its GPUs, and what that cost. */

#include "report/pool_table.h"

#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH = 15, MOST_POOLS = 16 };

/* A job may cost less than a cent. */
static const char *price_text(int64_t uusd, char *buffer) {
  if (uusd == HR_UNKNOWN_UUSD) return "-";
  if (uusd < 0 || uusd >= 1000000) return hr__usd_text(uusd, buffer);
  buffer[0] = '$';
  hr__fixed_text((double)uusd / 1e6, 4, buffer + 1);
  return buffer;
}

static const char *percent_text(double share, char *buffer) {
  if (isnan(share)) return "-";
  hr__fixed_text(100 * share, 1, buffer);
  return strcat(buffer, " %");
}

static const char *factor_text(double factor, bool known, char *buffer) {
  return known ? hr__factor_text(factor, buffer) : "-";
}

static void put_pool(struct hr__console *console, const struct hr_pool_figures *pool) {
  char text[6][HR__NUMBER_BYTES];
  const struct hr_distribution *latency = &pool->latency_factor;
  bool known = latency->count > 0, priced = pool->cost_uusd != HR_UNKNOWN_UUSD;
  char *name = hr__fitted(console, pool->name ? pool->name : "", NAME_WIDTH, false);
  if (!name) return;
  fprintf(console->out, "%s%*s%10s%11s%9s%9s%13s%12s\n", name, (int)(NAME_WIDTH + 1 - hr__width_of(name, strlen(name))),
          "", hr__count_text(pool->completed, text[0]), percent_text(pool->utilization, text[1]),
          factor_text(latency->mean, known, text[2]), factor_text(latency->p95, known, text[3]),
          priced ? hr__usd_text(pool->cost_uusd, text[4]) : "-", price_text(pool->per_completed_job_uusd, text[5]));
  free(name);
}

void hr__put_pools(struct hr__console *console, const struct hr_summary *summary) {
  size_t count = summary->n_pools;
  if (count < 2 || !summary->fragmentation.known) return;
  fprintf(console->out, "\n%s%-*s%10s%11s%9s%9s%13s%12s%s\n", hr__bold(console), NAME_WIDTH + 1, "pool", "jobs",
          "allocated", "latency", "p95", "cost", "per job", hr__plain(console));
  for (size_t i = 0; i < count && i < MOST_POOLS; i++) put_pool(console, &summary->by_pool[i]);
  char more[HR__NUMBER_BYTES];
  if (count > MOST_POOLS)
    fprintf(console->out, "%sand %s more%s\n", hr__dim(console), hr__count_text(count - MOST_POOLS, more),
            hr__plain(console));
  fprintf(console->out, "%slatency: time that a job held its GPUs / its recorded run time, mean and p95.%s\n",
          hr__dim(console), hr__plain(console));
}
