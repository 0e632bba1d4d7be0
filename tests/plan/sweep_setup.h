/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_PLAN_SWEEP_SETUP_H
#define HR_TESTS_PLAN_SWEEP_SETUP_H

/* A sweep of four points: one node or two, in submit order or shortest first. The trace has four jobs of 8 GPUs. */

struct sweep_paths {
  char grid[300], file[300];
};

/* Writes grid, scenario and trace. The file of the sweep does not exist yet. */
void sweep_setup(struct sweep_paths *paths);
void sweep_write(const char *name, const char *text);

#endif
