/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_SIGNALS_H
#define HR_CLI_SIGNALS_H

/* From now on a signal that ends the program takes the files with it that are not whole yet; it ends the program all
   the same, and one that is ignored stays ignored. */
void signals_discard_unfinished(void);

/* From now on a closed pipe does not end the program: who writes to it is told, and says so. */
void signals_tell_closed_pipes(void);

#endif
