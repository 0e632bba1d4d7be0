/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

static struct {
  char folder[64], path[160];
  struct hr_error error;
} files;

/* Aborts the program if `succeeded` is false: the test cannot run without its files. */
static void require(bool succeeded, const char *what) {
  if (succeeded) return;
  perror(what);
  abort();
}

static void remove_folder(void) {
  DIR *folder = opendir(files.folder);
  require(folder != NULL, files.folder);
  for (const struct dirent *entry; (entry = readdir(folder));) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", files.folder, entry->d_name);
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) require(remove(path) == 0, path);
  }
  closedir(folder);
  require(rmdir(files.folder) == 0, files.folder);
}

const char *file_path(const char *name) {
  if (!files.folder[0]) {
    strcpy(files.folder, "/tmp/headroom-test-XXXXXX");
    require(mkdtemp(files.folder) != NULL, files.folder);
    require(atexit(remove_folder) == 0, "atexit");
  }
  snprintf(files.path, sizeof files.path, "%s/%s", files.folder, name);
  return files.path;
}

const char *file_write(const char *name, const void *bytes, size_t length) {
  const char *path = file_path(name);
  FILE *file = fopen(path, "wb");
  require(file != NULL, path);
  require(fwrite(bytes, 1, length, file) == length, path);
  require(fclose(file) == 0, path);
  return path;
}

const char *file_write_text(const char *name, const char *text) {
  return file_write(name, text, strlen(text));
}

void *gzip_bytes(const char *text, size_t *length) {
  z_stream z = {0};
  require(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "deflateInit2");
  size_t room = deflateBound(&z, strlen(text));
  unsigned char *out = malloc(room);
  require(out != NULL, "malloc");
  z.next_in = (unsigned char *)(size_t)text;
  z.avail_in = (uInt)strlen(text);
  z.next_out = out;
  z.avail_out = (uInt)room;
  require(deflate(&z, Z_FINISH) == Z_STREAM_END, "deflate");
  *length = z.total_out;
  deflateEnd(&z);
  return out;
}

void *zstd_bytes(const char *text, size_t *length) {
  size_t room = ZSTD_compressBound(strlen(text));
  void *out = malloc(room);
  require(out != NULL, "malloc");
  *length = ZSTD_compress(out, room, text, strlen(text), 3);
  require(!ZSTD_isError(*length), "ZSTD_compress");
  return out;
}

struct hr_trace *trace_at(const char *path, const struct hr_trace_options *options) {
  struct hr_trace *trace = NULL;
  files.error = (struct hr_error){0};
  enum hr_status status = hr_trace_read(path, options, &trace, &files.error);
  require(status == files.error.status, "the error has the status that was returned");
  return trace;
}

struct hr_trace *trace_of(const char *text, const struct hr_trace_options *options) {
  return trace_at(file_write_text("jobs.csv", text), options);
}

const char *trace_error(void) {
  size_t folder = strlen(files.folder);
  bool inside = folder && strncmp(files.error.text, files.folder, folder) == 0;
  return inside ? files.error.text + folder + 1 : files.error.text;
}

enum hr_status trace_status(void) {
  return files.error.status;
}

bool refused_at(const char *path, const struct hr_trace_options *options, const char *start, const char *part) {
  struct hr_trace *trace = trace_at(path, options);
  bool read = trace != NULL;
  hr_trace_destroy(trace);
  if (!read && trace_status() == HR_BAD_INPUT && strncmp(trace_error(), start, strlen(start)) == 0 &&
      strstr(trace_error(), part))
    return true;
  fprintf(stderr, "\n    wanted: %s ... %s\n    got: %s\n", start, part, read ? "a trace" : trace_error());
  return false;
}

bool refused(const char *text, const struct hr_trace_options *options, const char *start, const char *part) {
  return refused_at(file_write_text("jobs.csv", text), options, start, part);
}

bool has_note(const struct hr_notes *notes, const char *part) {
  for (size_t i = 0; i < notes->count; i++)
    if (strstr(notes->text[i], part)) return true;
  return false;
}
