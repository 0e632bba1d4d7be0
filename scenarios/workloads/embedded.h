/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_WORKLOADS_EMBEDDED_H
#define HR_SCENARIOS_WORKLOADS_EMBEDDED_H

/* The bytes of the shipped workload models. They are embedded in the library when it is built. */

#include <stddef.h>

#define HR__EMBEDDED_WORKLOAD(name)                                                                                    \
  extern const unsigned char hr__workload_##name[];                                                                    \
  extern const size_t hr__workload_##name##_size;

HR__EMBEDDED_WORKLOAD(philly)
HR__EMBEDDED_WORKLOAD(helios)
HR__EMBEDDED_WORKLOAD(pai)
HR__EMBEDDED_WORKLOAD(acme_seren)
HR__EMBEDDED_WORKLOAD(acme_kalos)

#endif
