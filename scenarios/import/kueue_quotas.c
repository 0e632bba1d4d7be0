/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Import of Kueue: references between objects, and quotas. The rules are those that Kueue checks when objects are
 * created (pkg/webhooks of kubernetes-sigs/kueue), and those that make a ClusterQueue inactive.
 */

#include "scenarios/import/kueue.h"

#include <stdio.h>

/* ---- References ------------------------------------------------------------------------------------- */

static const struct hr__object *find(const struct hr__kueue_import *import, enum hr__kueue_kind kind,
                                     const char *name) {
  return hr__objects_find(&import->objects, &hr__kueue_kinds[kind], NULL, name);
}

/* Checks that a text names an object of a kind. */
enum hr_status hr__kueue_check_reference(const struct hr__kueue_import *import, const struct hr__object *object,
                                         const struct hr__yaml *name, enum hr__kueue_kind kind) {
  const char *known[200], *nearest;
  size_t count = 0;
  if (!name || find(import, kind, name->text)) return HR_OK;
  const struct hr__object *other = NULL;
  while (count + 1 < sizeof known / sizeof *known && (other = hr__kueue_next(import, kind, other)))
    known[count++] = other->name;
  known[count] = NULL;
  nearest = hr_nearest_word(name->text, known);
  return hr__object_fail(
      &import->objects, object, name, "found '%.80s', expected the name of a %s in these files%s%.80s%s", name->text,
      hr__kueue_kinds[kind].name, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

const struct hr__yaml *hr__kueue_parent(const struct hr__object *cohort) {
  const struct hr__yaml *parent = hr__yaml_at(cohort->root, "spec.parentName");
  if (!parent) parent = hr__yaml_at(cohort->root, "spec.parent");
  return parent && parent->text[0] ? parent : NULL;
}

const struct hr__yaml *hr__kueue_cohort(const struct hr__object *queue) {
  const struct hr__yaml *cohort = hr__yaml_at(queue->root, "spec.cohortName");
  if (!cohort && strcmp(queue->version, "v1beta1") == 0) cohort = hr__yaml_at(queue->root, "spec.cohort");
  return cohort && cohort->text[0] ? cohort : NULL;
}

/* Checks that the parents of a cohort do not lead back to it. A parent need not exist. */
enum hr_status hr__kueue_check_acyclic(const struct hr__kueue_import *import, const struct hr__object *cohort) {
  const struct hr__object *at = cohort;
  for (uint32_t steps = 0; steps <= import->objects.count; steps++) {
    const struct hr__yaml *parent = hr__kueue_parent(at);
    if (!parent) return HR_OK;
    if (strcmp(parent->text, cohort->name) == 0)
      return hr__object_fail(&import->objects, cohort, hr__kueue_parent(cohort), "its parents form a cycle: %s%.80s",
                             at == cohort ? "it is its own parent, " : "one of them is ",
                             at == cohort ? cohort->name : at->name);
    at = find(import, HR__KUEUE_COHORT, parent->text);
    if (!at) return HR_OK;
  }
  return HR_OK; /* a cycle of other cohorts, which is reported for them */
}

/* ---- Quotas ----------------------------------------------------------------------------------------- */

/* A duplicate in a list: the entry whose text at `key` (NULL: its own) occurs before; NULL: none. */
static const struct hr__yaml *duplicate_in(const struct hr__yaml *first, const char *key) {
  for (const struct hr__yaml *entry = first; entry; entry = entry->next) {
    const char *text = key ? hr__yaml_text(entry, key) : entry->text;
    for (const struct hr__yaml *other = first; other != entry; other = other->next)
      if (text && strcmp(text, key ? hr__yaml_text(other, key) : other->text) == 0) return entry;
  }
  return NULL;
}

static int64_t milli_at(const struct hr__yaml *from, const char *path) {
  int64_t milli = 0;
  const char *text = hr__yaml_text(from, path);
  return text && hr__quantity_milli(text, &milli) ? milli : 0;
}

static enum hr_status check_resource(const struct hr__kueue_import *import, const struct hr__object *owner,
                                     const struct hr__yaml *resource, bool in_tree) {
  const struct hr__yaml *borrowing = hr__yaml_child(resource, "borrowingLimit");
  const struct hr__yaml *lending = hr__yaml_child(resource, "lendingLimit");
  if (!in_tree && (borrowing || lending))
    return hr__object_fail(&import->objects, owner, borrowing ? borrowing : lending,
                           "%s of %s: found a limit, expected none: it is in no cohort",
                           borrowing ? "borrowingLimit" : "lendingLimit", hr__yaml_text(resource, "name"));
  if (lending && milli_at(resource, "lendingLimit") > milli_at(resource, "nominalQuota"))
    return hr__object_fail(&import->objects, owner, lending,
                           "lendingLimit of %s: found %s, expected at most the nominal quota, %s",
                           hr__yaml_text(resource, "name"), lending->text, hr__yaml_text(resource, "nominalQuota"));
  return HR_OK;
}

/* Whether a list of objects has one with a name. */
static bool has_name(const struct hr__yaml *first, const char *name) {
  for (; first; first = first->next)
    if (strcmp(hr__yaml_text(first, "name"), name) == 0) return true;
  return false;
}

static enum hr_status check_flavor_quotas(const struct hr__kueue_import *import, const struct hr__object *owner,
                                          const struct hr__yaml *group, const struct hr__yaml *flavor, bool in_tree) {
  const struct hr__yaml *resources = hr__yaml_first(flavor, "resources"),
                        *covered = hr__yaml_first(group, "coveredResources");
  enum hr_status status = hr__kueue_check_reference(import, owner, hr__yaml_child(flavor, "name"), HR__KUEUE_FLAVOR);
  const struct hr__yaml *twice = duplicate_in(resources, "name");
  if (status == HR_OK && twice)
    return hr__object_fail(&import->objects, owner, twice, "resource '%.80s' is listed twice",
                           hr__yaml_text(twice, "name"));
  for (const struct hr__yaml *entry = covered; entry && status == HR_OK; entry = entry->next)
    if (!has_name(resources, entry->text))
      status = hr__object_fail(&import->objects, owner, flavor,
                               "flavor '%.80s' has no quota of '%.80s', which its group covers",
                               hr__yaml_text(flavor, "name"), entry->text);
  for (const struct hr__yaml *entry = resources; entry && status == HR_OK; entry = entry->next) {
    const char *name = hr__yaml_text(entry, "name");
    const struct hr__yaml *at = covered;
    while (at && strcmp(at->text, name) != 0) at = at->next;
    if (!at)
      status = hr__object_fail(&import->objects, owner, entry,
                               "resource '%.80s' is not in coveredResources of its group", name);
    else
      status = check_resource(import, owner, entry, in_tree);
  }
  return status;
}

/* Checks that a flavor or resource is in one group only. */
static enum hr_status check_repeated(const struct hr__kueue_import *import, const struct hr__object *owner,
                                     const struct hr__yaml *groups, const struct hr__yaml *group) {
  for (const struct hr__yaml *other = groups; other != group; other = other->next) {
    for (const struct hr__yaml *flavor = hr__yaml_first(group, "flavors"); flavor; flavor = flavor->next)
      if (has_name(hr__yaml_first(other, "flavors"), hr__yaml_text(flavor, "name")))
        return hr__object_fail(&import->objects, owner, flavor, "flavor '%.80s' is in two groups",
                               hr__yaml_text(flavor, "name"));
    for (const struct hr__yaml *a = hr__yaml_first(group, "coveredResources"); a; a = a->next)
      for (const struct hr__yaml *b = hr__yaml_first(other, "coveredResources"); b; b = b->next)
        if (strcmp(a->text, b->text) == 0)
          return hr__object_fail(&import->objects, owner, a, "resource '%.80s' is in two groups", a->text);
  }
  return HR_OK;
}

enum hr_status hr__kueue_check_groups(const struct hr__kueue_import *import, const struct hr__object *owner,
                                      bool in_tree) {
  const struct hr__yaml *groups = hr__yaml_first(owner->root, "spec.resourceGroups");
  enum hr_status status = HR_OK;
  for (const struct hr__yaml *group = groups; group && status == HR_OK; group = group->next) {
    const struct hr__yaml *flavors = hr__yaml_first(group, "flavors"), *twice = duplicate_in(flavors, "name");
    const struct hr__yaml *covered = duplicate_in(hr__yaml_first(group, "coveredResources"), NULL);
    if (twice)
      return hr__object_fail(&import->objects, owner, twice, "flavor '%.80s' is listed twice",
                             hr__yaml_text(twice, "name"));
    if (covered)
      return hr__object_fail(&import->objects, owner, covered, "resource '%.80s' is listed twice", covered->text);
    status = check_repeated(import, owner, groups, group);
    for (const struct hr__yaml *flavor = flavors; flavor && status == HR_OK; flavor = flavor->next)
      status = check_flavor_quotas(import, owner, group, flavor, in_tree);
  }
  return status;
}

static void put_quotas(struct hr__kueue_import *import, cJSON *to, const struct hr__yaml *resources) {
  struct hr__convert *convert = &import->convert;
  cJSON *list = hr__put_list(convert, to, "resources");
  for (const struct hr__yaml *entry = resources; entry; entry = entry->next) {
    cJSON *quota = hr__put_object(convert, list, NULL);
    hr__copy_text(convert, quota, "name", entry, "name");
    hr__copy_quantity(convert, quota, "nominal_quota", entry, "nominalQuota");
    hr__copy_quantity(convert, quota, "borrowing_limit", entry, "borrowingLimit");
    hr__copy_quantity(convert, quota, "lending_limit", entry, "lendingLimit");
  }
}

void hr__kueue_put_groups(struct hr__kueue_import *import, cJSON *to, const struct hr__object *owner) {
  struct hr__convert *convert = &import->convert;
  cJSON *list = hr__put_list(convert, to, "resource_groups");
  for (const struct hr__yaml *group = hr__yaml_first(owner->root, "spec.resourceGroups"); group; group = group->next) {
    cJSON *object = hr__put_object(convert, list, NULL);
    hr__copy_texts(convert, object, "covered_resources", group, "coveredResources");
    cJSON *flavors = hr__put_list(convert, object, "flavors");
    for (const struct hr__yaml *flavor = hr__yaml_first(group, "flavors"); flavor; flavor = flavor->next) {
      cJSON *entry = hr__put_object(convert, flavors, NULL);
      hr__copy_text(convert, entry, "name", flavor, "name");
      put_quotas(import, entry, hr__yaml_first(flavor, "resources"));
    }
  }
  hr__drop_empty(to, "resource_groups");
}

int64_t hr__kueue_gpus_of(const struct hr__kueue_import *import, const char *name) {
  static const enum hr__kueue_kind owners[] = {HR__KUEUE_CLUSTER_QUEUE, HR__KUEUE_COHORT};
  int64_t milli = 0;
  for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
    for (const struct hr__object *owner = hr__kueue_next(import, owners[i], NULL); owner;
         owner = hr__kueue_next(import, owners[i], owner))
      for (const struct hr__yaml *group = hr__yaml_first(owner->root, "spec.resourceGroups"); group;
           group = group->next)
        for (const struct hr__yaml *flavor = hr__yaml_first(group, "flavors"); flavor; flavor = flavor->next) {
          if (strcmp(hr__yaml_text(flavor, "name"), name) != 0) continue;
          for (const struct hr__yaml *entry = hr__yaml_first(flavor, "resources"); entry; entry = entry->next)
            if (strcmp(hr__yaml_text(entry, "name"), import->gpu_resource) == 0)
              milli += milli_at(entry, "nominalQuota");
        }
  return milli;
}
