/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: arbitrary bytes as Kubernetes manifests of each system. They must be read or rejected with a message. */

#include "input.h"
#include "scenarios/import/import.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void require(bool condition) {
  if (!condition) abort();
}

/* If the manifests are accepted, the scenario must have pools, a policy and the section of the system. */
static void read_system(const char *system, hr__import_read *read, const char *path) {
  cJSON *root = cJSON_CreateObject();
  struct hr_notes notes = {0};
  struct hr_error error = {0};
  require(root != NULL);
  if (read(&path, 1, root, &notes, &error) == HR_OK) {
    const cJSON *cluster = cJSON_GetObjectItemCaseSensitive(root, "cluster");
    require(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(cluster, "pools")) > 0);
    require(cJSON_GetObjectItemCaseSensitive(root, "policy") && cJSON_GetObjectItemCaseSensitive(root, system));
  } else {
    require(error.status != HR_OK && error.text[0]);
  }
  hr_notes_finish(&notes);
  cJSON_Delete(root);
}

static const struct {
  const char *system;
  hr__import_read *read;
} systems[] = {{"kueue", hr__import_kueue},
               {"kai", hr__import_kai},
               {"volcano", hr__import_volcano},
               {"kubernetes", hr__import_kubernetes}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[FUZZ_PATH_BUFFER];
  fuzz_input_write(data, size, path);
  for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) read_system(systems[i].system, systems[i].read, path);
  return unlink(path);
}
