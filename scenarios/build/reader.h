/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_BUILD_READER_H
#define HR_SCENARIOS_BUILD_READER_H

/* Fills structs from JSON, as the rows of key tables say (HR__STORE_... of keys.h). */

#include "scenarios/build/builder.h"

/* Stores the members of `object` in the struct at `to`. `keys` is the table of the object. A key that is missing, or
   all keys if `object` is NULL, get their constant default; without a default, the struct is not changed. Texts and
   arrays are from malloc. The count of an array is stored before its entries are read, so that the caller can free the
   struct also after an error. An array of classes has an entry for each class; classes that are not listed get the
   entry of "default", if there is one. Errors: HR_NO_MEMORY. */
enum hr_status hr__read(struct hr__builder *builder, const cJSON *object, const struct hr__key *keys, void *to);
/* Does the same, but only for values that are neither objects nor lists. */
enum hr_status hr__read_values(struct hr__builder *builder, const cJSON *object, const struct hr__key *keys, void *to);
/* Checks the members of an object that belong to certain choices (`only_with` of the rows). `choice` is the value of
   the choice, and `noun` its name in messages, such as "spot model". If `complete` is set, members that the choice
   needs must exist. */
enum hr_status hr__check_choice(const struct hr__builder *builder, const cJSON *object, const struct hr__key *keys,
                                const char *noun, unsigned choice, bool complete);

/* Returns the table of the object at a path, such as "replications.workload", in a document with the outermost object
   `root`. Lists in the path are passed to their entries. */
const struct hr__key *hr__table_of(const struct hr__key *root, const char *path);

#endif
