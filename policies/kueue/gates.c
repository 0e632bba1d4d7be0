/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The feature gates of Kueue and their defaults in each version. One bit per row of HR__KUEUE_GATES. Source:
   pkg/features/kube_features.go of kubernetes-sigs/kueue. */

#include "policies/kueue/gates.h"

#include <string.h>

static const struct {
  const char *name;
  int since;
} rows[HR__KUEUE_GATE_COUNT] = {
#define ROW(code, name, since) {name, since},
    HR__KUEUE_GATES(ROW)
#undef ROW
};

hr__kueue_gates hr__kueue_gates_of_version(int minor) {
  hr__kueue_gates gates = 0;
  for (int i = 0; i < HR__KUEUE_GATE_COUNT; i++)
    if (rows[i].since <= minor) gates |= UINT64_C(1) << i;
  return gates;
}

bool hr__kueue_gates_set(hr__kueue_gates *gates, const char *name, bool on) {
  for (int i = 0; i < HR__KUEUE_GATE_COUNT; i++) {
    if (strcmp(rows[i].name, name) != 0) continue;
    *gates = on ? *gates | UINT64_C(1) << i : *gates & ~(UINT64_C(1) << i);
    return true;
  }
  return false;
}
