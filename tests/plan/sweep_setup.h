/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_PLAN_SWEEP_SETUP_H
#define HR_TESTS_PLAN_SWEEP_SETUP_H

/* A sweep of four points with four jobs of 8 GPUs: one node or two, in submit order or shortest first. */

struct sweep_paths {
  char grid[300], file[300];
};

/* Writes grid, scenario and trace; the file of the sweep does not exist. */
void sweep_setup(struct sweep_paths *paths);
void sweep_write(const char *name, const char *text);

#endif
