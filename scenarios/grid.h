/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_GRID_H
#define HR_SCENARIOS_GRID_H

/* As many dimensions as GSL's Sobol sequence has; levels of an axis. */
enum { HR__MOST_AXES = 40, HR__MOST_LEVELS = 10000 };

#endif
