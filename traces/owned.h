/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_OWNED_H
#define HR_TRACES_OWNED_H

/* What a trace owns but does not show lies behind it in one object; hr_trace_destroy frees it. What it shows and does
   not own (names of another trace) is NULL here. */

#include "traces/builder.h"

struct hr__owned_trace {
  struct hr_trace trace; /* first: the public pointer is this one */
  struct hr__column column[HR__N_COLUMNS];
  struct hr__names names[HR__N_NAMES];
  struct hr__id_block *id_blocks;
  uint32_t *row;
  char *source, *format;
  void *map; /* a packed trace: the file, where the columns that are not owned lie */
  size_t map_bytes;
};

/* The trace's pointers to columns (but ids) and the bytes that these take, from the columns that it owns; `n_jobs` is
   set. */
void hr__owned_trace_show_columns(struct hr__owned_trace *owned);
/* Likewise names. */
void hr__owned_trace_show_names(struct hr__owned_trace *owned);

#endif
