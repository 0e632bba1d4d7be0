/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_FILE_DIGEST_H
#define HR_PLAN_FILE_DIGEST_H

/* Digests of bytes and of files: whether something is what it was. Not for secrets. */

#include "headroom/base.h"

uint64_t hr__digest_bytes(uint64_t digest, const void *bytes, size_t count);
/* Of a file; of a folder, what is in it does not count: it is named by itself. */
enum hr_status hr__digest_file(const char *path, uint64_t *digest, struct hr_error *error);

#endif
