/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_COMMAND_H
#define HR_CLI_COMMAND_H

/* The words that the program was started with, borrowed. */
struct command {
  int count;
  char **words;
};

/* As a person would type it into a shell; the caller frees it. NULL when out of memory. */
char *command_text(const struct command *command);

#endif
