/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_INPUT_KEY_H
#define HR_PLAN_RUNNER_INPUT_KEY_H

/* Which trace a scenario reads, and how: scenarios with the same key share one. */

#include "headroom/base.h"
#include "headroom/scenario.h"

/* `file`: that is read, instead of the scenario's. The caller frees it; NULL when out of memory. */
char *hr__trace_key(const struct hr_scenario *scenario, const char *file);
enum hr_status hr__trace_read(const struct hr_scenario *scenario, const char *file, struct hr_trace **trace,
                              struct hr_error *error);

/* Digests of bytes and of files: whether something is what it was. Not for secrets. */

uint64_t hr__digest_bytes(uint64_t digest, const void *bytes, size_t count);
/* Of a file; of a folder, what is in it does not count: it is named by itself. */
enum hr_status hr__digest_file(const char *path, uint64_t *digest, struct hr_error *error);

#endif
