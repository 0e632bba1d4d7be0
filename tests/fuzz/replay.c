/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a fuzz target on every file of the given folders. The corpus contains inputs that once revealed a defect, so
   this test fails if the defect returns. */

#include "input.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static int replay_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return -1;
  enum { LARGEST = 1 << 20 };
  uint8_t *data = malloc(LARGEST);
  size_t size = data ? fread(data, 1, LARGEST, file) : 0;
  int failed = !data || ferror(file);
  if (!failed) {
    printf("%s (%zu bytes)\n", path, size);
    (void)fflush(stdout); /* after a crash the last line names the input */
    failed = LLVMFuzzerTestOneInput(data, size);
  }
  free(data);
  (void)fclose(file);
  return failed ? -1 : 0;
}

/* Returns the number of replayed files; -1 on errors. */
static int replay_folder(const char *folder) {
  DIR *entries = opendir(folder);
  int count = entries ? 0 : -1;
  for (struct dirent *entry; count >= 0 && (entry = readdir(entries));) {
    if (entry->d_name[0] == '.') continue;
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    count = length < (int)sizeof path && replay_file(path) == 0 ? count + 1 : -1;
  }
  if (entries) (void)closedir(entries);
  return count;
}

int main(int argc, char **argv) {
  int total = 0;
  for (int i = 1; i < argc; i++) {
    int count = replay_folder(argv[i]);
    if (count <= 0) {
      (void)fprintf(stderr, "%s: cannot be replayed or contains no file\n", argv[i]);
      return EXIT_FAILURE;
    }
    total += count;
  }
  printf("%d inputs replayed\n", total);
  return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
