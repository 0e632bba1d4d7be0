/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks output files before a run. An output file is written under another name and then renamed, so its folder must
   be writable; of a symbolic link, that of the file that it refers to. The checks do not guarantee success: if the
   write itself fails, it reports the error. */

#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum hr_status cannot_write(const char *option, const char *path, const char *why, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT, "--%s %s: cannot be written: %s", option, path, why);
}

static enum hr_status check_folder(const char *option, const char *path, struct hr_error *error) {
  char *folder = strdup(path);
  if (!folder) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  char *slash = strrchr(folder, '/');
  if (slash) slash[slash == folder] = '\0'; /* the folder of "/file" is "/" */
  const char *place = slash ? folder : ".";
  enum hr_status status = HR_OK;
  struct stat info;
  if (stat(place, &info) != 0)
    status =
        hr_fail(error, HR_BAD_INPUT, "--%s %s: cannot be written: folder %s: %s", option, path, place, strerror(errno));
  else if (!S_ISDIR(info.st_mode))
    status = hr_fail(error, HR_BAD_INPUT, "--%s %s: cannot be written: %s is not a folder", option, path, place);
  else if (access(place, W_OK | X_OK) != 0)
    status =
        hr_fail(error, HR_BAD_INPUT, "--%s %s: cannot be written: folder %s: %s", option, path, place, strerror(errno));
  free(folder);
  return status;
}

static enum hr_status check_path(const char *option, const char *path, struct hr_error *error) {
  struct stat info;
  if (is_stdout(path)) return HR_OK;
  if (!path[0]) return cannot_write(option, "''", "expected a file name", error);
  if (stat(path, &info) != 0 || S_ISREG(info.st_mode)) {
    char *target = hr_output_target(path);
    if (!target) return cannot_write(option, path, strerror(errno), error);
    enum hr_status status = check_folder(option, target, error);
    free(target);
    return status;
  }
  if (S_ISDIR(info.st_mode)) return cannot_write(option, path, "it is a directory", error);
  return access(path, W_OK) == 0 ? HR_OK : cannot_write(option, path, strerror(errno), error);
}

static bool is_same_file(const char *a, const char *b) {
  struct stat first, second;
  if (stat(a, &first) != 0 || stat(b, &second) != 0) return false;
  return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static enum hr_status check_clash(const struct output *a, const struct output *b, struct hr_error *error) {
  if (!a->path || is_stdout(a->path) != is_stdout(b->path) || !hr_output_same(a->path, b->path)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--%s and --%s both write to %s; use two files", a->option, b->option,
                 is_stdout(b->path) ? "standard output" : b->path);
}

enum hr_status outputs_check(const struct output *outputs, size_t n_outputs, const char *const *inputs, size_t n_inputs,
                             struct hr_error *error) {
  for (size_t i = 0; i < n_outputs; i++) {
    const struct output *output = &outputs[i];
    if (!output->path) continue;
    enum hr_status status = check_path(output->option, output->path, error);
    for (size_t j = 0; j < i && status == HR_OK; j++) status = check_clash(&outputs[j], output, error);
    if (status != HR_OK) return status;
    for (size_t j = 0; j < n_inputs; j++)
      if (is_same_file(output->path, inputs[j]))
        return cannot_write(output->option, output->path, "this run reads it", error);
  }
  return HR_OK;
}

enum hr_status outputs_spare_params(const struct output *outputs, size_t n_outputs, const char *format,
                                    struct hr_error *error) {
  const char *params = format ? strchr(format, ':') : NULL;
  char *copy = params ? strdup(params + 1) : NULL;
  if (params && !copy) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  enum hr_status status = HR_OK;
  for (char *param = copy, *next; param && status == HR_OK; param = next) {
    next = strchr(param, ',');
    if (next) *next++ = '\0';
    const char *value = strchr(param, '=') ? strchr(param, '=') + 1 : param;
    for (size_t i = 0; i < n_outputs && status == HR_OK; i++)
      if (outputs[i].path && is_same_file(outputs[i].path, value))
        status = cannot_write(outputs[i].option, outputs[i].path, "this run reads it", error);
  }
  free(copy);
  return status;
}
