/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_VERBS_LIST_KEYS_H
#define HR_CLI_VERBS_LIST_KEYS_H

#include "headroom/base.h"

/* What `headroom list keys` prints. */
struct list_keys_args {
  const char *path;      /* the key whose members are listed; NULL: all keys */
  bool verbose;          /* print the whole help, not only its first sentence */
  bool schema, markdown; /* print the JSON Schema of scenarios, or a table in Markdown */
};

enum hr_status list_keys(const struct list_keys_args *args, struct hr_error *error);

#endif
