/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_VALIDATE_POOL_H
#define HR_CLI_VALIDATE_POOL_H

#include "headroom/headroom.h"

/* A pool but for its market, on standard output, 80 columns wide. */
void print_pool(const struct hr_pool_spec *pool);

#endif
