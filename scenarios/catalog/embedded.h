/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CATALOG_EMBEDDED_H
#define HR_SCENARIOS_CATALOG_EMBEDDED_H

/* The catalogue's tables, made part of the library when it is built. */

#include <stddef.h>

#define HR__EMBEDDED(name)                                                                                             \
  extern const unsigned char hr__catalog_##name[];                                                                     \
  extern const size_t hr__catalog_##name##_size;

HR__EMBEDDED(gpus)
HR__EMBEDDED(instances)
HR__EMBEDDED(prices)
HR__EMBEDDED(regions)
HR__EMBEDDED(discounts)
HR__EMBEDDED(spot_presets)
HR__EMBEDDED(mig_profiles)
HR__EMBEDDED(network_speeds)

#endif
