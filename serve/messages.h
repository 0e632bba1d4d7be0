/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SERVE_MESSAGES_H
#define HR_SERVE_MESSAGES_H

#include <stddef.h>

/* Messages and answers of commands, in the terms of the interface. */

/* Absolute paths; NULL: none. */
struct hr__message_folders {
  const char *scratch; /* of temporary files, with a folder for each job */
  const char *served;  /* of the user's files */
  const char *data;    /* of the files that ship with Headroom */
};

/* Returns a copy of a message with the members of a body for the options of commands, and without the folders. The
   caller frees it. NULL when out of memory. */
char *hr__message_plain(const char *message, const struct hr__message_folders *folders);

/* Removes the folders from an answer of `length` bytes with a zero after them, in place. Returns the new length. */
size_t hr__answer_plain(char *answer, size_t length, const struct hr__message_folders *folders);

#endif
