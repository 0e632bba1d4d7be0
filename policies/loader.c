/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Policies from shared objects. */

#include "policies/loader.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define ENTRY "headroom_policy"

/* The first size that a policy may have been built with: all that it cannot do without. */
#define LEAST_SIZE (offsetof(struct hr_policy_ops, decide) + sizeof(((struct hr_policy_ops *)0)->decide))

bool hr__policy_is_path(const char *name) {
  return strchr(name, '/') != NULL;
}

enum hr_status hr__policy_check(const struct hr_policy_ops *ops, struct hr_error *error) {
  if (ops->abi != HR_POLICY_ABI)
    return hr_fail(error, HR_BAD_INPUT, "it was built for interface %u; this is interface %u: build it again",
                   (unsigned)ops->abi, HR_POLICY_ABI);
  if (ops->size < LEAST_SIZE || ops->size > sizeof *ops)
    return hr_fail(error, HR_BAD_INPUT, "it has %u bytes of functions, %s; from %zu to %zu are wanted",
                   (unsigned)ops->size, ops->size > sizeof *ops ? "as of a later Headroom" : "too few", LEAST_SIZE,
                   sizeof *ops);
  if (!ops->name || !ops->summary || !ops->create || !ops->decide)
    return hr_fail(error, HR_BAD_INPUT, "it lacks its %s",
                   !ops->name      ? "name"
                   : !ops->summary ? "summary"
                   : !ops->create  ? "'create'"
                                   : "'decide'");
  return HR_OK;
}

static enum hr_status refuse(const char *path, const struct hr_error *inner, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT, "the policy %.300s cannot be used: %.400s", path, inner->text);
}

enum hr_status hr__policy_load(const char *path, void **library, const struct hr_policy_ops **ops,
                               struct hr_error *error) {
  struct hr_error inner = {0};
  *ops = NULL;
  *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!*library) {
    hr_fail(&inner, HR_BAD_INPUT, "%s", dlerror());
    return refuse(path, &inner, error);
  }
  const struct hr_policy_ops *(*entry)(void);
  void *symbol = dlsym(*library, ENTRY);
  memcpy(&entry, &symbol, sizeof entry); /* what dlsym finds is a function */
  *ops = symbol ? entry() : NULL;
  enum hr_status status = HR_OK;
  if (!*ops)
    status = hr_fail(&inner, HR_BAD_INPUT,
                     "it has no '" ENTRY "', which HR_POLICY(name) = {...} of headroom/policy.h makes");
  if (status == HR_OK) status = hr__policy_check(*ops, &inner);
  if (status == HR_OK) return HR_OK;
  hr__policy_unload(*library);
  *library = NULL;
  return refuse(path, &inner, error);
}

void hr__policy_unload(void *library) {
  if (library) dlclose(library);
}
