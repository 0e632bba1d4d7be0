/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the test vectors of kueue against its model. */

#include "scenarios/conform/conform.h"

void hr__conform_kueue(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)whole;
  hr__verdict_unsupported(verdict, kind);
}
