/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/output_file.h"
#include "sim/unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16 };

static enum hr_status cannot_write(const char *path, int number, struct hr_error *error) {
  enum hr_status status = number == ENOSPC || number == EIO || number == EDQUOT ? HR_IO_ERROR : HR_BAD_INPUT;
  return hr_fail(error, status, "%s: cannot be written: %s", path, strerror(number));
}

/* An existing file keeps its mode; a new one gets what the umask leaves of 0666. */
static mode_t mode_for(const char *path) {
  struct stat info;
  if (stat(path, &info) == 0) return info.st_mode & 07777;
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/* Pipes, terminals and /dev/null cannot be renamed onto: they are written directly. */
static bool is_special(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static void forget(struct hr__output_file *file) {
  free(file->path);
  if (hr__unfinished_remove(file->place)) free(file->temporary);
  *file = (struct hr__output_file){0};
}

/* The descriptor of a new file without a name or, where there are no such, beside `path`; -1 with errno set. */
static int make(struct hr__output_file *file) {
  static const char suffix[] = ".XXXXXX";
  file->begun = hr__unfinished_discards();
  int descriptor = hr__unfinished_make_nameless(file->path);
  file->nameless = descriptor >= 0;
  if (file->nameless || errno == ENOMEM) return descriptor;
  file->temporary = malloc(strlen(file->path) + sizeof suffix);
  if (!file->temporary) errno = ENOMEM;
  if (!file->temporary) return -1;
  strcpy(file->temporary, file->path);
  strcat(file->temporary, suffix);
  return hr__unfinished_make(file->temporary, &file->place);
}

static enum hr_status open_new(struct hr__output_file *file, const char *path, struct hr_error *error) {
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return cannot_write(path, EISDIR, error);
  file->path = strdup(path);
  if (!file->path) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  int descriptor = make(file);
  int number = errno;
  if (descriptor >= 0) {
    (void)fchmod(descriptor, mode_for(path));
    file->stream = fdopen(descriptor, "w");
    number = errno;
    if (!file->stream) {
      close(descriptor);
      if (file->temporary) unlink(file->temporary);
    }
  }
  if (file->stream) return HR_OK;
  forget(file);
  return number == ENOMEM ? hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path) : cannot_write(path, number, error);
}

enum hr_status hr__output_open(struct hr__output_file *file, const char *path, struct hr_error *error) {
  *file = (struct hr__output_file){0};
  if (strcmp(path, "-") == 0) {
    file->stream = stdout;
    return HR_OK;
  }
  if (!is_special(path)) return open_new(file, path, error);
  file->path = strdup(path);
  if (!file->path) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  file->stream = fopen(path, "w");
  if (file->stream) return HR_OK;
  int number = errno;
  forget(file);
  return cannot_write(path, number, error);
}

void hr__output_write(struct hr__output_file *file, const char *bytes, size_t count) {
  if (fwrite(bytes, 1, count, file->stream) < count && !file->failure) file->failure = errno;
}

/* Gives a file that has no name its own, or, where another has that, one beside it, to be renamed. */
static bool name_file(struct hr__output_file *file) {
  int descriptor = fileno(file->stream);
  if (!file->nameless) return true;
  if (file->begun != hr__unfinished_discards()) {
    errno = ECANCELED;
    return false;
  }
  if (hr__unfinished_link(descriptor, file->path)) return true;
  if (errno != EEXIST) return false;
  file->temporary = hr__unfinished_name(descriptor, file->path, &file->place);
  return file->temporary != NULL;
}

/* Whether all is written, and safe on disk. */
static bool is_whole(const struct hr__output_file *file) {
  if (fflush(file->stream) != 0 || ferror(file->stream)) return false;
  return (!file->temporary && !file->nameless) || fsync(fileno(file->stream)) == 0;
}

enum hr_status hr__output_commit(struct hr__output_file *file, struct hr_error *error) {
  const char *name = file->path ? file->path : "standard output";
  errno = 0;
  bool failed = !is_whole(file) || !name_file(file);
  int number = file->failure ? file->failure : errno;
  const char *why = number ? strerror(number) : "a write failed; is the disk full?";
  if (file->stream != stdout && fclose(file->stream) != 0 && !failed) {
    failed = true;
    why = strerror(errno);
  }
  if (!failed && file->temporary && rename(file->temporary, file->path) != 0) {
    failed = true;
    why = strerror(errno);
  }
  enum hr_status status = HR_OK;
  if (failed) {
    if (file->temporary) unlink(file->temporary);
    status = number == ENOMEM ? hr_fail(error, HR_NO_MEMORY, "%s: out of memory", name)
                              : hr_fail(error, HR_IO_ERROR, "%s: cannot be written: %s", name, why);
  }
  forget(file);
  return status;
}

void hr__output_abandon(struct hr__output_file *file) {
  if (!file->stream) return;
  if (file->stream != stdout) fclose(file->stream);
  if (file->temporary) unlink(file->temporary);
  forget(file);
}
