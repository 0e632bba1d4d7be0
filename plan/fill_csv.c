/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fill as CSV: a row for each rule, seed and whole per cent. */

#include "plan/filling.h"
#include "report/csv_out.h"

static void put_row(struct hr__csv_out *out, const struct hr_fill *fill, uint32_t rule, uint32_t index, uint32_t pct) {
  char buffer[HR__NUMBER_BYTES];
  struct hr_fill_row row = hr_fill_at(fill, rule, index, pct);
  hr__csv_text(out, fill->config.rules[rule]->name);
  hr__csv_u64(out, hr_fill_seed(fill, index));
  hr__csv_u64(out, pct);
  hr__csv_text(out, hr__decimal_text(row.alloc_pct, buffer));
  hr__csv_text(out, hr__decimal_text(row.frag_pct, buffer));
  hr__csv_u64(out, row.failed);
  hr__csv_end_row(out);
}

enum hr_status hr_fill_write_csv(const char *path, const struct hr_fill *fill, struct hr_error *error) {
  struct hr__csv_out out;
  enum hr_status status = hr__csv_open(&out, path, "policy,seed,arrived_pct,alloc_pct,frag_pct,failed", error);
  if (status != HR_OK) return status;
  for (uint32_t rule = 0; rule < fill->config.n_rules; rule++)
    for (uint32_t index = 0; index < fill->config.n_seeds; index++)
      for (uint32_t pct = 1; pct <= fill->input.last; pct++) put_row(&out, fill, rule, index, pct);
  return hr__csv_commit(&out, error);
}
