/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenarios from the configuration of other schedulers: finds the reader of the system, and writes what it returns. */

#include "scenarios/import/import.h"

#include "base/output_file.h"
#include "scenarios/schema/keys.h"

#include <stdlib.h>
#include <string.h>

#define NAME_OF(name, read) name,
const char *const hr_import_systems[] = {HR__IMPORT_SYSTEMS(NAME_OF) NULL};
#undef NAME_OF

#define READ_OF(name, read) read,
static hr__import_read *const readers[] = {HR__IMPORT_SYSTEMS(READ_OF)};
#undef READ_OF

static enum hr_status write_scenario(const char *path, const cJSON *root, struct hr_error *error) {
  char *text = hr__json_pretty(root);
  if (!text) return hr_fail(error, HR_NO_MEMORY, "import: out of memory");
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
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
  if (status == HR_OK) status = write_scenario(output, root, error);
  cJSON_Delete(root);
  return status;
}
