/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CATALOG_EMBEDDED_H
#define HR_SCENARIOS_CATALOG_EMBEDDED_H

/* The catalogue's tables, made part of the library when it is built. */

#include <stddef.h>

extern const unsigned char hr__catalog_gpus[];
extern const size_t hr__catalog_gpus_size;

#endif
