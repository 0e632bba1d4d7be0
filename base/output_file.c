/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Output files, the list of unfinished files, and buffered writers. base/output_file.h describes how a file is created
 * and named.
 *
 * Buffered writers format each kind of field by a separate function. This is several times as fast as printf.
 */

#include "base/output_file.h"

#include "base/process.h"
#include "headroom/base.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Unfinished files ------------------------------------------------------------------------------ */

/*
 * The list of unfinished files is global, because a signal handler has no other way to find it. It is an array of
 * pointers to paths. Each entry is added or removed by one atomic operation, so threads and the signal handler need no
 * lock. Either a thread or the signal handler removes a path from the list, never both. A thread that removes a path
 * then frees it. The signal handler only deletes the file, so its path is never freed.
 */

enum { MAX_FILES = 64, LINK_BYTES = 32, MAX_NAMES = 1000 };
static char *_Atomic unfinished[MAX_FILES];
static atomic_uint discards;
static atomic_bool all_named; /* set by tests only: all files are created with a name */

static uint32_t list_file(char *path) {
  for (uint32_t i = 0; i < MAX_FILES; i++) {
    char *none = NULL;
    if (atomic_compare_exchange_strong(&unfinished[i], &none, path)) return i + 1;
  }
  return 0;
}

int hr__unfinished_make(char *path, uint32_t *place) {
  sigset_t all, before;
  sigfillset(&all);
  /* no signal handler may run between the creation of the file and its addition to the list */
  pthread_sigmask(SIG_BLOCK, &all, &before);
  int descriptor = mkstemp(path), number = errno;
  *place = descriptor >= 0 ? list_file(path) : 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = number;
  return descriptor;
}

/* ---- Files without a name -------------------------------------------------------------------------- */

#ifdef O_TMPFILE
static int open_in_folder_of(const char *path) {
  char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
  if (!folder) {
    errno = ENOMEM;
    return -1;
  }
  if (slash) slash[slash == folder] = '\0'; /* the folder of "/file" is "/" */
  int descriptor = open(slash ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  free(folder);
  return descriptor;
}
#endif

/* Returns the path below /proc that refers to an open descriptor. linkat needs this path to link the file to a name. */
static const char *link_of(int descriptor, char buffer[LINK_BYTES]) {
  snprintf(buffer, LINK_BYTES, "/proc/self/fd/%d", descriptor);
  return buffer;
}

void hr__unfinished_name_all(bool all) {
  atomic_store(&all_named, all);
}

/* Creates a file without a name in the folder of `path` and returns its descriptor. The system removes the file when
   the process ends, unless the file was linked to a name. Returns -1 with errno EOPNOTSUPP if the file system does not
   support such files, or -1 with the errno of the failed call. */
static int make_nameless(const char *path) {
#ifdef O_TMPFILE
  char at[LINK_BYTES];
  errno = EOPNOTSUPP;
  if (atomic_load(&all_named)) return -1;
  int descriptor = open_in_folder_of(path);
  if (descriptor < 0 || access(link_of(descriptor, at), F_OK) == 0) return descriptor;
  close(descriptor);
#else
  (void)path;
#endif
  errno = EOPNOTSUPP;
  return -1;
}

/* Links a file without a name to `path`, which must not exist. Returns false with errno set on failure. */
static bool link_to(int descriptor, const char *path) {
  char at[LINK_BYTES];
  return linkat(AT_FDCWD, link_of(descriptor, at), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* Links a file without a name to a short temporary name in the folder of `path`, and stores the path of the temporary
   name in `name`. A name derived from `path` could be too long for the file system; the short name never is. Returns
   false with errno set on failure. */
static bool link_beside(int descriptor, const char *path, char *name, size_t size) {
  const char *slash = strrchr(path, '/');
  int folder_bytes = slash ? (int)(slash - path) + 1 : 0;
  for (unsigned i = 0; i < MAX_NAMES; i++) {
    snprintf(name, size, "%.*s.headroom-%ld-%u", folder_bytes, path, (long)getpid(), i);
    if (link_to(descriptor, name)) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

/* Links a file without a name to a temporary name in the folder of `path` and adds it to the list of unfinished files.
   Returns the temporary path, which the caller frees, or NULL with errno set. */
static char *name_beside(int descriptor, const char *path, uint32_t *place) {
  enum { SUFFIX_BYTES = 40 };
  sigset_t all, before;
  size_t size = strlen(path) + SUFFIX_BYTES;
  char *name = malloc(size);
  *place = 0;
  if (!name) {
    errno = ENOMEM;
    return NULL;
  }
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  bool linked = link_beside(descriptor, path, name, size);
  int number = errno;
  if (linked) *place = list_file(name);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (linked) return name;
  free(name);
  errno = number;
  return NULL;
}

bool hr__unfinished_remove(uint32_t place) {
  return place == 0 || atomic_exchange(&unfinished[place - 1], NULL);
}

/* Returns how often hr_discard_unfinished was called. The count is stored when a file is opened. If the count has
   changed at the commit, the file has been discarded and must not get a name. */
static unsigned count_discards(void) {
  return atomic_load(&discards);
}

void hr_discard_unfinished(void) {
  int number = errno;
  atomic_fetch_add(&discards, 1);
  for (uint32_t i = 0; i < MAX_FILES; i++) {
    const char *path = atomic_exchange(&unfinished[i], NULL);
    if (path) unlink(path);
  }
  errno = number;
}

/* ---- Paths ----------------------------------------------------------------------------------------- */

/* Returns the target of the symbolic link at `path`. Returns NULL with errno set on failure; errno is EINVAL if `path`
   is not a symbolic link. */
static char *target_of_link(const char *path) {
  enum { MAX_TARGET = 4096 };
  char target[MAX_TARGET];
  ssize_t length = readlink(path, target, sizeof target - 1);
  if (length < 0) return NULL;
  target[length] = '\0';
  const char *slash = strrchr(path, '/');
  size_t folder_bytes = slash && target[0] != '/' ? (size_t)(slash - path) + 1 : 0;
  char *joined = malloc(folder_bytes + (size_t)length + 1);
  if (!joined) {
    errno = ENOMEM;
    return NULL;
  }
  memcpy(joined, path, folder_bytes);
  memcpy(joined + folder_bytes, target, (size_t)length + 1);
  return joined;
}

char *hr_output_target(const char *path) {
  enum { MAX_LINKS = 40 };
  char *at = strdup(path);
  for (int i = 0; at && i <= MAX_LINKS; i++) {
    char *next = target_of_link(at);
    if (!next && errno != ENOMEM) return at; /* not a link, or it cannot be read: opening the file reports why */
    free(at);
    at = next;
  }
  const int number = at ? ELOOP : ENOMEM;
  free(at);
  errno = number;
  return NULL;
}

/* Returns the file descriptor of this process to which the path refers, for example "/dev/stdout" or "/dev/fd/3".
   Returns -1 if the path refers to no descriptor. Symbolic links with absolute targets are followed. */
static int descriptor_of(const char *path) {
  static const char *const folders[] = {"/proc/self/fd/", "/dev/fd/"};
  enum { MAX_LINKS = 8, MAX_DIGITS = 6, MAX_TARGET = 4096 };
  char targets[2][MAX_TARGET];
  for (int i = 0; i < MAX_LINKS; i++) {
    char *target = targets[i % 2];
    for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) {
      size_t prefix = strlen(folders[k]);
      if (strncmp(path, folders[k], prefix) != 0) continue;
      size_t digits = strspn(path + prefix, "0123456789");
      if (digits > 0 && digits <= MAX_DIGITS && !path[prefix + digits]) return (int)strtol(path + prefix, NULL, 10);
    }
    ssize_t length = readlink(path, target, MAX_TARGET - 1);
    if (length <= 0) return -1;
    target[length] = '\0';
    path = target;
  }
  return -1;
}

/* Returns the last component of a path, and stores the result of stat() for its folder in `*folder`. Returns NULL if
   stat() fails. */
static const char *split(char *path, struct stat *folder) {
  char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  if (!slash) return stat(".", folder) == 0 ? name : NULL;
  char first = *name;
  slash[1] = '\0'; /* removes the name from the path, for the call of stat only */
  bool found = stat(path, folder) == 0;
  slash[1] = first;
  return found ? name : NULL;
}

bool hr_output_same(const char *a, const char *b) {
  struct stat at_a, at_b;
  if (strcmp(a, b) == 0) return true;
  if (stat(a, &at_a) == 0 && stat(b, &at_b) == 0)
    return S_ISREG(at_a.st_mode) && at_a.st_dev == at_b.st_dev && at_a.st_ino == at_b.st_ino;
  char *target_a = hr_output_target(a), *target_b = hr_output_target(b);
  const char *name_a = target_a ? split(target_a, &at_a) : NULL, *name_b = target_b ? split(target_b, &at_b) : NULL;
  bool same =
      name_a && name_b && strcmp(name_a, name_b) == 0 && at_a.st_dev == at_b.st_dev && at_a.st_ino == at_b.st_ino;
  free(target_a);
  free(target_b);
  return same;
}

/* ---- Output files ---------------------------------------------------------------------------------- */

static enum hr_status cannot_write(const char *path, int number, struct hr_error *error) {
  enum hr_status status =
      number == ENOSPC || number == EIO || number == EDQUOT || number == EFBIG ? HR_IO_ERROR : HR_BAD_INPUT;
  return hr_fail(error, status, "%s: cannot be written: %s", hr__output_name(path), strerror(number));
}

/* Returns the mode of the file at `path`. If no such file exists, returns the mode for a new file: 0666 without the
   bits of the umask. */
static mode_t mode_for(const char *path) {
  struct stat info;
  if (stat(path, &info) == 0) return info.st_mode & 07777;
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/* Returns whether the path is a pipe, a terminal or a device like /dev/null. Such files cannot be replaced by rename,
   so they are written directly. */
static bool is_special(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static void forget(struct hr__output_file *file) {
  free(file->path);
  if (hr__unfinished_remove(file->place)) free(file->temporary);
  *file = (struct hr__output_file){0};
}

/* Creates a file without a name. If this fails for any reason except lack of memory, creates a temporary file in the
   folder of the path. Returns the descriptor, or -1 with errno set. */
static int create_file(struct hr__output_file *file) {
  static const char suffix[] = ".XXXXXX";
  file->begun = count_discards();
  int descriptor = make_nameless(file->path);
  file->nameless = descriptor >= 0;
  if (file->nameless || errno == ENOMEM) return descriptor;
  file->temporary = malloc(strlen(file->path) + sizeof suffix);
  if (!file->temporary) {
    errno = ENOMEM;
    return -1;
  }
  strcpy(file->temporary, file->path);
  strcat(file->temporary, suffix);
  return hr__unfinished_make(file->temporary, &file->place);
}

static enum hr_status open_new(struct hr__output_file *file, const char *path, struct hr_error *error) {
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return cannot_write(path, EISDIR, error);
  file->path = hr_output_target(path);
  if (!file->path && errno != ENOMEM) return cannot_write(path, errno, error);
  if (!file->path) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  int descriptor = create_file(file);
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
  int descriptor = descriptor_of(path);
  if (descriptor < 0 && !is_special(path)) return open_new(file, path, error);
  file->path = strdup(path);
  if (!file->path) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  /* the copy shares the file position, so that all output is in order */
  int copy = descriptor < 0 ? -1 : dup(descriptor);
  file->stream = descriptor < 0 ? fopen(path, "w") : copy < 0 ? NULL : fdopen(copy, "w");
  if (file->stream) return HR_OK;
  int number = errno;
  if (copy >= 0) close(copy);
  forget(file);
  return cannot_write(path, number, error);
}

/* Links a file without a name to its path. If the path exists already, links the file to a temporary name in the same
   folder; the caller then renames the temporary name to the path. Returns false with errno set on failure. */
static bool name_file(struct hr__output_file *file) {
  int descriptor = fileno(file->stream);
  if (!file->nameless || !file->path) return true;
  if (file->begun != count_discards()) {
    errno = ECANCELED;
    return false;
  }
  if (link_to(descriptor, file->path)) return true;
  if (errno != EEXIST) return false;
  file->temporary = name_beside(descriptor, file->path, &file->place);
  return file->temporary != NULL;
}

/* Flushes the stream and syncs the file, unless it is a device, a pipe or standard output, which are only flushed.
   Returns whether all bytes were written. */
static bool is_whole(const struct hr__output_file *file) {
  if (fflush(file->stream) != 0 || ferror(file->stream)) return false;
  return (!file->temporary && !file->nameless) || fsync(fileno(file->stream)) == 0;
}

/* Closes a file that is complete, and renames it if it has a temporary name. `failed`: an earlier step of the commit
   has failed. `number`: the errno of that step; 0: none. Removes the file on failure. */
static enum hr_status close_file(struct hr__output_file *file, bool failed, int number, struct hr_error *error) {
  const char *name = file->path ? hr__output_name(file->path) : "standard output";
  if (file->failure) number = file->failure;
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

/* ---- Files that appear together -------------------------------------------------------------------- */

/*
 * The complete files that wait for their names (hr_outputs_hold) are in a list, the oldest first. A file without a name
 * stays open, so that it vanishes if the process ends; a file with a temporary name is also in the list of unfinished
 * files. This list is global, too, because the files of a command are written by independent functions, and some of
 * them by several threads.
 */
struct held_file {
  struct hr__output_file file;
  struct held_file *next;
};
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static struct held_file *held_first, **held_end = &held_first; /* guarded by held_lock */
static atomic_bool holds;

void hr_outputs_hold(void) {
  atomic_store(&holds, true);
}

/* Moves a complete file to the list. */
static enum hr_status hold(struct hr__output_file *file, struct hr_error *error) {
  struct held_file *held = malloc(sizeof *held);
  if (!held) return close_file(file, true, ENOMEM, error);
  *held = (struct held_file){.file = *file};
  *file = (struct hr__output_file){0};
  pthread_mutex_lock(&held_lock);
  *held_end = held;
  held_end = &held->next;
  pthread_mutex_unlock(&held_lock);
  return HR_OK;
}

/* Removes all files from the list and returns them. Later files get their names at once. */
static struct held_file *take_held(void) {
  atomic_store(&holds, false);
  pthread_mutex_lock(&held_lock);
  struct held_file *first = held_first;
  held_first = NULL;
  held_end = &held_first;
  pthread_mutex_unlock(&held_lock);
  return first;
}

static void free_held(struct held_file *first) {
  while (first) {
    struct held_file *next = first->next;
    hr__output_abandon(&first->file);
    free(first);
    first = next;
  }
}

void hr_outputs_discard(void) {
  free_held(take_held());
}

/* Links a file without a name to a temporary name, so that only the rename remains to be done. */
static enum hr_status prepare(struct hr__output_file *file, struct hr_error *error) {
  errno = file->begun == count_discards() ? 0 : ECANCELED;
  bool failed = errno != 0;
  if (!failed && file->nameless) {
    file->temporary = name_beside(fileno(file->stream), file->path, &file->place);
    failed = !file->temporary;
  }
  return failed ? close_file(file, true, errno, error) : HR_OK;
}

enum hr_status hr_outputs_publish(struct hr_error *error) {
  struct held_file *first = take_held();
  sigset_t all, before;
  enum hr_status status = HR_OK;
  for (struct held_file *at = first; at && status == HR_OK; at = at->next) status = prepare(&at->file, error);
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  for (struct held_file *at = first; at && status == HR_OK; at = at->next)
    status = close_file(&at->file, false, 0, error);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  free_held(first);
  return status;
}

enum hr_status hr__output_commit(struct hr__output_file *file, struct hr_error *error) {
  errno = 0;
  bool whole = is_whole(file);
  if (whole && atomic_load(&holds) && (file->temporary || file->nameless)) return hold(file, error);
  bool failed = !whole || !name_file(file);
  return close_file(file, failed, errno, error);
}

void hr__output_abandon(struct hr__output_file *file) {
  if (!file->stream) return;
  if (file->stream != stdout) fclose(file->stream);
  if (file->temporary) unlink(file->temporary);
  forget(file);
}

enum hr_status hr__output_finish(struct hr__output_file *file, const char *path, bool out_of_memory,
                                 struct hr_error *error) {
  if (!out_of_memory) return hr__output_commit(file, error);
  hr__output_abandon(file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}

/* ---- Buffered writers ------------------------------------------------------------------------------ */

enum hr_status hr__out_open(struct hr__out *out, const char *path, struct hr_error *error) {
  *out = (struct hr__out){0};
  enum hr_status status = hr__output_open(&out->file, path, error);
  if (status != HR_OK) return status;
  out->buffer = malloc(HR__OUT_BYTES);
  if (out->buffer) return HR_OK;
  hr__output_abandon(&out->file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}

enum hr_status hr__out_commit(struct hr__out *out, struct hr_error *error) {
  if (out->out_of_memory) {
    hr__out_abandon(out);
    return hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  hr__out_drain(out);
  free(out->buffer);
  out->buffer = NULL;
  return hr__output_commit(&out->file, error);
}

void hr__out_bytes(struct hr__out *out, const char *bytes, size_t count) {
  while (count > 0) {
    size_t part = count < HR__OUT_BYTES ? count : HR__OUT_BYTES;
    memcpy(hr__out_room(out, part), bytes, part);
    out->used += part;
    bytes += part;
    count -= part;
  }
}

enum hr_status hr__csv_open(struct hr__csv_out *csv, const char *path, const char *header, struct hr_error *error) {
  *csv = (struct hr__csv_out){0};
  enum hr_status status = hr__out_open(&csv->out, path, error);
  if (status != HR_OK || !header) return status;
  hr__out_text(&csv->out, header);
  hr__out_byte(&csv->out, '\n');
  return HR_OK;
}

/* Returns whether a spreadsheet could evaluate the text: it begins like a formula, has more than one character, and is
   not a number. */
static bool is_formula(const char *text) {
  char *end;
  if (!strchr("=+-@\t\r", text[0]) || !text[1]) return false;
  (void)strtod(text, &end);
  return *end != '\0';
}

static void put_quoted(struct hr__csv_out *csv, const char *text) {
  hr__out_byte(&csv->out, '"');
  if (is_formula(text)) hr__out_byte(&csv->out, '\'');
  for (; *text; text++) {
    if (*text == '"') hr__out_byte(&csv->out, '"');
    hr__out_byte(&csv->out, *text);
  }
  hr__out_byte(&csv->out, '"');
}

/* Returns the length of a text, or SIZE_MAX if the text must be written in quotes. */
static size_t plain_length(const char *text) {
  size_t length = 0;
  for (; text[length]; length++)
    if (text[length] == ',' || text[length] == '"' || text[length] == '\n' || text[length] == '\r') return SIZE_MAX;
  return length;
}

void hr__csv_text(struct hr__csv_out *csv, const char *text) {
  hr__csv_begin_field(csv);
  if (!text || !text[0]) return;
  size_t length = plain_length(text);
  if (length == SIZE_MAX) {
    put_quoted(csv, text);
    return;
  }
  if (is_formula(text)) hr__out_byte(&csv->out, '\'');
  hr__out_bytes(&csv->out, text, length);
}

static void put_escaped(struct hr__out *out, unsigned char byte) {
  static const char digits[] = "0123456789abcdef";
  char *at = hr__out_room(out, 6);
  *at++ = '\\';
  if (byte == '"' || byte == '\\') {
    *at++ = (char)byte;
  } else {
    memcpy(at, "u00", 3);
    at[3] = digits[byte >> 4];
    at[4] = digits[byte & 15];
    at += 5;
  }
  hr__out_to(out, at);
}

static void put_utf8(struct hr__out *out, const char *text) {
  const char *plain = text;
  for (; *text; text++) {
    unsigned char byte = (unsigned char)*text;
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    hr__out_bytes(out, plain, (size_t)(text - plain));
    put_escaped(out, byte);
    plain = text + 1;
  }
  hr__out_bytes(out, plain, (size_t)(text - plain));
}

static bool is_ascii(const char *text) {
  while (*text && (unsigned char)*text < 0x80) text++;
  return !*text;
}

void hr__out_json_text(struct hr__out *out, const char *text) {
  char *copy = is_ascii(text) ? NULL : hr__utf8_copy(text);
  hr__out_byte(out, '"');
  if (copy || is_ascii(text))
    put_utf8(out, copy ? copy : text);
  else
    out->out_of_memory = true;
  hr__out_byte(out, '"');
  free(copy);
}
