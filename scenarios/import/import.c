/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenarios from the configuration of other schedulers: selects the reader of the system, checks the scenario that it
   makes, and writes the scenario. */

#include "scenarios/import/import.h"

#include "base/output_file.h"
#include "headroom/policies.h"
#include "scenarios/build/builder.h"
#include "scenarios/schema/keys.h"

#include <stdlib.h>
#include <string.h>

#define NAME_OF(name, read) name,
const char *const hr_import_systems[] = {HR__IMPORT_SYSTEMS(NAME_OF) NULL};
#undef NAME_OF

#define READ_OF(name, read) read,
static hr__import_read *const readers[] = {HR__IMPORT_SYSTEMS(READ_OF)};
#undef READ_OF

/* Checks that the scenario can be loaded. If the program has no policy with the name of the system, checks all other
   keys, with the policy `queue` in its place. */
static enum hr_status check_scenario(const char *path, const char *text, const char *system, struct hr_error *error) {
  static const char *const without_policy[] = {"policy={\"name\":\"queue\"}"};
  struct hr_error inner = {0};
  const struct hr_policy_ops *const *policies = hr_policies();
  while (*policies && strcmp((*policies)->name, system) != 0) policies++;
  enum hr_status status = hr__scenario_check(path, text, without_policy, *policies ? 0 : 1, &inner);
  if (status != HR_BAD_INPUT) return status == HR_OK ? HR_OK : hr_fail(error, status, "%s", inner.text);
  return hr_fail(error, status, "this configuration gives a scenario that is not valid: %s", inner.text);
}

static enum hr_status write_scenario(const char *path, const char *system, const cJSON *root, struct hr_error *error) {
  char *text = hr__json_pretty(root);
  if (!text) return hr_fail(error, HR_NO_MEMORY, "import: out of memory");
  struct hr__output_file file;
  enum hr_status status = check_scenario(path, text, system, error);
  if (status == HR_OK) status = hr__output_open(&file, path, error);
  if (status == HR_OK) {
    hr__output_write(&file, text, strlen(text));
    status = hr__output_commit(&file, error);
  }
  free(text);
  return status;
}

enum hr_status hr_import(const char *system, const char *const *files, size_t n_files, const char *output,
                         struct hr_notes *notes, struct hr_error *error) {
  size_t at = 0;
  while (hr_import_systems[at] && strcmp(hr_import_systems[at], system) != 0) at++;
  if (!hr_import_systems[at]) return hr_fail(error, HR_BAD_INPUT, "import: unknown system '%.60s'", system);
  cJSON *root = cJSON_CreateObject();
  enum hr_status status =
      root ? readers[at](files, n_files, root, notes, error) : hr_fail(error, HR_NO_MEMORY, "import: out of memory");
  if (status == HR_OK) status = write_scenario(output, system, root, error);
  cJSON_Delete(root);
  return status;
}
