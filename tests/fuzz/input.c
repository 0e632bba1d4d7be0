/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the input of a fuzz target to a file. */

#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *fuzz_folder(void) {
  return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

void fuzz_input_write(const uint8_t *data, size_t size, char path[FUZZ_PATH_BUFFER]) {
  (void)snprintf(path, FUZZ_PATH_BUFFER, "%s/headroom-fuzz-XXXXXX", fuzz_folder());
  int fd = mkstemp(path);
  if (fd < 0) abort();
  for (size_t done = 0; done < size;) {
    ssize_t written = write(fd, data + done, size - done);
    if (written <= 0) abort();
    done += (size_t)written;
  }
  if (close(fd) != 0) abort();
}
