/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_SPOOL_H
#define HR_TRACES_SPOOL_H

/*
 * Columns of a streamed trace, which is as long as its file and not to fill memory: each lies in a file of its own
 * without a name, which goes when it is closed, in $TMPDIR or /var/tmp. They cost memory only while they are looked at.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hr__column {
  void *at;
  uint8_t width;
  size_t spooled_bytes; /* of its file; 0: it is in memory */
  int file;
};

enum {
  HR__SPOOL_BLOCK = 1 << 16
}; /* rows; columns grow by a multiple of it, and are dropped by the block: whole pages */

/* Room for so many rows, never fewer than before. False, errno being set, when the file cannot be made or has no room.
 */
bool hr__spool_resize(struct hr__column *column, uint32_t capacity);
/* These rows, from the begin of a block on, need not stay in memory; they come back when they are looked at. */
void hr__spool_drop(const struct hr__column *column, uint32_t from, uint32_t to);
/* Of either kind. */
void hr__column_free(struct hr__column *column);
/* Where the files are. */
const char *hr__spool_folder(void);

#endif
