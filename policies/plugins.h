/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PLUGINS_H
#define HR_POLICIES_PLUGINS_H

/* Shared objects with a policy or a router. */

#include "headroom/base.h"

/* What a shared object contains, for messages, and its entry: the name of a function without arguments that returns a
   pointer to the operations. */
struct hr__plugin_kind {
  const char *name, *plural; /* "policy", "policies" */
  const char *symbol;
  const char *hint; /* how the symbol is defined */
};

/* Opens a shared object and sets `*ops` to its operations, which are not yet checked. Returns HR_BAD_INPUT, with
   `*library` NULL, if plug-ins are not allowed or the file does not contain such an entry. After success the caller
   calls hr__plugin_close. */
enum hr_status hr__plugin_open(const char *path, const struct hr__plugin_kind *kind, void **library, const void **ops,
                               struct hr_error *error);
/* Returns HR_BAD_INPUT with the path and the text of `inner`. */
enum hr_status hr__plugin_refuse(const struct hr__plugin_kind *kind, const char *path, const struct hr_error *inner,
                                 struct hr_error *error);
/* Closes a shared object. NULL: nothing to do. */
void hr__plugin_close(void *library);

#endif
