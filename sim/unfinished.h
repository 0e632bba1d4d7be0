/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_UNFINISHED_H
#define HR_SIM_UNFINISHED_H

/* Files that go when the process ends before they are whole (hr_discard_unfinished in headroom/base.h). */

#include <stdbool.h>
#include <stdint.h>

/* Makes a new file whose name fills the X's at the end of `path`, which must live until it is removed from the list.
   Its descriptor, -1 with errno set; `*place`: in the list, 0 when that is full. */
int hr__unfinished_make(char *path, uint32_t *place);
/* The file is whole, or gone. Whether its path is the caller's again; it is not where the process is about to end. */
bool hr__unfinished_remove(uint32_t place);

#endif
