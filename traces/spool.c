/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* /tmp is often memory. */
const char *hr__spool_folder(void) {
  const char *named = getenv("TMPDIR");
  return named && *named ? named : "/var/tmp";
}

static int open_nameless(void) {
  char path[PATH_BYTES];
  if (snprintf(path, sizeof path, "%s/headroom-XXXXXX", hr__spool_folder()) >= (int)sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  int file = mkstemp(path);
  if (file < 0) return file;
  (void)unlink(path);
  (void)fcntl(file, F_SETFD, FD_CLOEXEC);
  return file;
}

/* A disk that is full says so here: it could not when memory is written to. */
static bool make_room(int file, size_t bytes) {
  int number = posix_fallocate(file, 0, (off_t)bytes);
  errno = number;
  return number == 0;
}

bool hr__spool_resize(struct hr__column *column, uint32_t capacity) {
  size_t bytes = (size_t)capacity * column->width;
  bool is_new = column->spooled_bytes == 0;
  int file = is_new ? open_nameless() : column->file;
  if (file < 0) return false;
  void *at = make_room(file, bytes) ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  if (at == MAP_FAILED) {
    int number = errno;
    if (is_new) close(file);
    errno = number;
    return false;
  }
  if (!is_new) munmap(column->at, column->spooled_bytes);
  column->at = at;
  column->spooled_bytes = bytes;
  column->file = file;
  return true;
}

void hr__spool_drop(const struct hr__column *column, uint32_t from, uint32_t to) {
  size_t begin = (size_t)from * column->width, end = (size_t)to * column->width;
  if (column->spooled_bytes && begin < end) (void)madvise((char *)column->at + begin, end - begin, MADV_DONTNEED);
}

void hr__column_free(struct hr__column *column) {
  if (column->spooled_bytes) {
    munmap(column->at, column->spooled_bytes);
    close(column->file);
  } else {
    free(column->at);
  }
  column->at = NULL;
  column->spooled_bytes = 0;
}
