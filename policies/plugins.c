/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens shared objects with a policy or a router. */

#include "policies/plugins.h"

#include "base/confinement.h"

#include <dlfcn.h>
#include <string.h>

enum hr_status hr__plugin_refuse(const struct hr__plugin_kind *kind, const char *path, const struct hr_error *inner,
                                 struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT, "cannot load %s %.300s: %.400s", kind->name, path, inner->text);
}

void hr__plugin_close(void *library) {
  if (library) dlclose(library);
}

enum hr_status hr__plugin_open(const char *path, const struct hr__plugin_kind *kind, void **library, const void **ops,
                               struct hr_error *error) {
  struct hr_error inner = {0};
  *ops = NULL;
  *library = NULL;
  if (!hr__allows_plugins()) {
    hr_fail(&inner, HR_BAD_INPUT, "%s in shared objects are not allowed here", kind->plural);
    return hr__plugin_refuse(kind, path, &inner, error);
  }
  *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!*library) {
    hr_fail(&inner, HR_BAD_INPUT, "%s", dlerror());
    return hr__plugin_refuse(kind, path, &inner, error);
  }
  const void *(*entry)(void);
  void *symbol = dlsym(*library, kind->symbol);
  memcpy(&entry, &symbol, sizeof entry); /* converts the object pointer of dlsym to a function pointer */
  *ops = symbol ? entry() : NULL;
  if (*ops) return HR_OK;
  hr_fail(&inner, HR_BAD_INPUT, "no symbol '%s'; %s", kind->symbol, kind->hint);
  hr__plugin_close(*library);
  *library = NULL;
  return hr__plugin_refuse(kind, path, &inner, error);
}
