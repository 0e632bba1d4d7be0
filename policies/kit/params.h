/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KIT_PARAMS_H
#define HR_POLICIES_KIT_PARAMS_H

/* The rows of a policy's table of parameters (struct hr_param): key, default value, choices or bounds, level, help. The
   level HR__ADVANCED is for special cases: tables of results omit such a parameter if it has its default value. */

#include "headroom/policy.h"

enum { HR__BASIC = false, HR__ADVANCED = true };

#define HR__CHOICE(name, value, names, level, words)                                                                   \
  {                                                                                                                    \
    .key = (name), .type = HR_PARAM_CHOICE, .fallback = (value), .choices = (names), .advanced = (level),              \
    .help = (words)                                                                                                    \
  }
#define HR__REAL(name, value, lowest, highest, level, words)                                                           \
  {                                                                                                                    \
    .key = (name), .type = HR_PARAM_REAL, .fallback = (value), .min = (lowest), .max = (highest), .advanced = (level), \
    .help = (words)                                                                                                    \
  }
#define HR__INTEGER(name, value, lowest, highest, level, words)                                                        \
  {                                                                                                                    \
    .key = (name), .type = HR_PARAM_INTEGER, .fallback = (value), .min = (lowest), .max = (highest),                   \
    .advanced = (level), .help = (words)                                                                               \
  }
#define HR__BOOLEAN(name, value, level, words)                                                                         \
  { .key = (name), .type = HR_PARAM_BOOLEAN, .fallback = (value), .advanced = (level), .help = (words) }

#endif
