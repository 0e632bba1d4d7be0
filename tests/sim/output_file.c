/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output files appear under their name only when they are complete. */

#include "base/output_file.h"
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/headroom-test-XXXXXX";

static const char *path_of(const char *name) {
  static char path[200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int count_files(void) {
  int count = 0;
  DIR *entries = opendir(folder);
  for (struct dirent *entry; (entry = readdir(entries));)
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(entries);
  return count;
}

static void file_appears_at_commit(void) {
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
  struct hr__output_file file;
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&file, path_of("a.csv"), NULL), HR_OK);
  fputs("whole\n", file.stream);
  CU_ASSERT_NOT_EQUAL(access(path_of("a.csv"), F_OK), 0);
  CU_ASSERT_EQUAL(hr__output_commit(&file, NULL), HR_OK);
  CU_ASSERT_EQUAL(access(path_of("a.csv"), F_OK), 0);
  CU_ASSERT_EQUAL(count_files(), 1);
}

static void abandon_keeps_old_file(void) {
  struct hr__output_file file;
  CU_ASSERT_EQUAL_FATAL(chmod(path_of("a.csv"), 0640), 0);
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&file, path_of("a.csv"), NULL), HR_OK);
  fputs("half", file.stream);
  hr__output_abandon(&file);
  hr__output_abandon(&file);
  CU_ASSERT_EQUAL(count_files(), 1);
  FILE *old = fopen(path_of("a.csv"), "r");
  char text[16] = "";
  CU_ASSERT_PTR_NOT_NULL(fgets(text, sizeof text, old));
  CU_ASSERT_STRING_EQUAL(text, "whole\n");
  fclose(old);
}

static void replacement_keeps_mode(void) {
  struct hr__output_file file;
  struct stat info;
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&file, path_of("a.csv"), NULL), HR_OK);
  CU_ASSERT_EQUAL(hr__output_commit(&file, NULL), HR_OK);
  CU_ASSERT_EQUAL(stat(path_of("a.csv"), &info), 0);
  CU_ASSERT_EQUAL(info.st_mode & 0777, 0640);
}

/* An incomplete file has no name, so it does not remain if the process is killed. */
static void incomplete_file_has_no_name(void) {
  struct hr__output_file fresh, newer;
  int before = count_files();
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&fresh, path_of("new.csv"), NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&newer, path_of("a.csv"), NULL), HR_OK);
  if (fresh.nameless) CU_ASSERT_EQUAL(count_files(), before);
  fputs("newer\n", newer.stream);
  CU_ASSERT_EQUAL(hr__output_commit(&fresh, NULL), HR_OK);
  CU_ASSERT_EQUAL(hr__output_commit(&newer, NULL), HR_OK);
  CU_ASSERT_EQUAL(count_files(), before + 1);
  unlink(path_of("new.csv"));
}

/* Two files with the same name are open at the same time. Each commit replaces the file, so the contents of the last
   commit remain. */
static void last_commit_replaces_file(void) {
  struct hr__output_file files[2];
  for (int i = 0; i < 2; i++) CU_ASSERT_EQUAL_FATAL(hr__output_open(&files[i], path_of("both.csv"), NULL), HR_OK);
  for (int i = 0; i < 2; i++) fprintf(files[i].stream, "%d", i);
  for (int i = 0; i < 2; i++) CU_ASSERT_EQUAL(hr__output_commit(&files[i], NULL), HR_OK);
  FILE *last = fopen(path_of("both.csv"), "r");
  CU_ASSERT_EQUAL(fgetc(last), '1');
  fclose(last);
  unlink(path_of("both.csv"));
  CU_ASSERT_EQUAL(count_files(), 1);
}

/* A file whose name has the maximum length is written twice: first as a new file, then as a replacement of this
   file. */
static void names_of_maximum_length(void) {
  char name[256];
  memset(name, 'n', 255);
  name[255] = '\0';
  static char path[400];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  struct hr__output_file probe;
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&probe, path_of("probe"), NULL), HR_OK);
  bool nameless = probe.nameless; /* without O_TMPFILE, the name of the temporary file would be too long */
  hr__output_abandon(&probe);
  if (!nameless) return;
  for (int i = 0; i < 2; i++) {
    struct hr__output_file file;
    CU_ASSERT_EQUAL_FATAL(hr__output_open(&file, path, NULL), HR_OK);
    CU_ASSERT_EQUAL(hr__output_commit(&file, NULL), HR_OK);
  }
  unlink(path);
}

static void discard_file_without_name(void) {
  struct hr__output_file file;
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&file, path_of("b.csv"), NULL), HR_OK);
  hr_discard_unfinished();
  CU_ASSERT_EQUAL(hr__output_commit(&file, NULL), HR_IO_ERROR);
  CU_ASSERT_EQUAL(count_files(), 1);
}

static void discard_temporary_files(void) {
  hr__unfinished_name_all(true);
  struct hr__output_file files[3];
  static const char *const names[] = {"b.csv", "c.csv", "d.csv"};
  for (int i = 0; i < 3; i++) CU_ASSERT_EQUAL_FATAL(hr__output_open(&files[i], path_of(names[i]), NULL), HR_OK);
  CU_ASSERT_EQUAL(hr__output_commit(&files[0], NULL), HR_OK);
  CU_ASSERT_EQUAL(count_files(), 4);
  errno = EAGAIN;
  hr_discard_unfinished();
  CU_ASSERT_EQUAL(errno, EAGAIN);
  CU_ASSERT_EQUAL(count_files(), 2);
  struct hr_error error = {0};
  char *temporaries[] = {files[1].temporary, files[2].temporary};
  CU_ASSERT_EQUAL(hr__output_commit(&files[1], &error), HR_IO_ERROR);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "c.csv: cannot be written: "));
  hr__output_abandon(&files[2]);
  CU_ASSERT_EQUAL(count_files(), 2);
  /* after a discard, the paths stay allocated until the process ends */
  for (int i = 0; i < 2; i++) free(temporaries[i]);
  unlink(path_of("b.csv"));
  replacement_keeps_mode();
  hr__unfinished_name_all(false);
}

static void more_files_than_list_has_room_for(void) {
  enum { FILES = 100 };
  static struct hr__output_file files[FILES];
  char name[20];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < FILES; i++) {
      snprintf(name, sizeof name, "%d.csv", i);
      CU_ASSERT_EQUAL_FATAL(hr__output_open(&files[i], path_of(name), NULL), HR_OK);
    }
    for (int i = 1; i < FILES; i += 2) CU_ASSERT_EQUAL(hr__output_commit(&files[i], NULL), HR_OK);
    for (int i = 0; i < FILES; i += 2) hr__output_abandon(&files[i]);
    hr_discard_unfinished();
    CU_ASSERT_EQUAL(count_files(), 1 + FILES / 2);
  }
  for (int i = 0; i < FILES; i++) {
    snprintf(name, sizeof name, "%d.csv", i);
    unlink(path_of(name));
  }
}

static void write_file(const char *name, const char *text) {
  struct hr__output_file file;
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&file, path_of(name), NULL), HR_OK);
  fputs(text, file.stream);
  CU_ASSERT_EQUAL(hr__output_commit(&file, NULL), HR_OK);
}

static bool has_text(const char *name, const char *expected) {
  char text[16] = "";
  FILE *file = fopen(path_of(name), "r");
  bool read = file && fgets(text, sizeof text, file);
  if (file) fclose(file);
  return read && strcmp(text, expected) == 0;
}

/* Files whose commit is deferred appear when they are published, and never if they are discarded. */
static void held_files_appear_together(void) {
  for (int named = 0; named < 2; named++) {
    hr__unfinished_name_all(named);
    int before = count_files();
    write_file("1", "old");
    hr_outputs_hold();
    write_file("1", "new");
    write_file("2", "new");
    CU_ASSERT_TRUE(has_text("1", "old"));
    CU_ASSERT_NOT_EQUAL(access(path_of("2"), F_OK), 0);
    hr_outputs_discard();
    CU_ASSERT_EQUAL(count_files(), before + 1);
    hr_outputs_hold();
    write_file("1", "new");
    write_file("2", "new");
    CU_ASSERT_EQUAL(hr_outputs_publish(NULL), HR_OK);
    CU_ASSERT_TRUE(has_text("1", "new") && has_text("2", "new"));
    CU_ASSERT_EQUAL(count_files(), before + 2);
    write_file("2", "later"); /* no longer deferred */
    CU_ASSERT_TRUE(has_text("2", "later"));
    unlink(path_of("1"));
    unlink(path_of("2"));
  }
  hr__unfinished_name_all(false);
}

/* The signal handler calls hr_discard_unfinished, which removes deferred files. Then none of them can be published. */
static void signal_discards_held_files(void) {
  struct hr_error error = {0};
  int before = count_files();
  hr_outputs_hold();
  write_file("1", "new");
  hr_discard_unfinished();
  write_file("2", "new");
  CU_ASSERT_EQUAL(hr_outputs_publish(&error), HR_IO_ERROR);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/1: cannot be written: "));
  CU_ASSERT_EQUAL(count_files(), before);
}

static void links_are_followed(void) {
  char other[220];
  struct stat info;
  write_file("target", "old");
  CU_ASSERT_EQUAL_FATAL(symlink("target", path_of("link")), 0);
  CU_ASSERT_EQUAL_FATAL(symlink("fresh", path_of("dangling")), 0);
  CU_ASSERT_EQUAL_FATAL(symlink("loop", path_of("loop")), 0);
  write_file("link", "new");
  write_file("dangling", "new");
  CU_ASSERT_TRUE(has_text("target", "new") && has_text("fresh", "new"));
  CU_ASSERT_EQUAL(lstat(path_of("link"), &info), 0);
  CU_ASSERT_TRUE(S_ISLNK(info.st_mode));
  struct hr__output_file file;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr__output_open(&file, path_of("loop"), &error), HR_BAD_INPUT);
  snprintf(other, sizeof other, "%s/.//target", folder);
  CU_ASSERT_TRUE(hr_output_same(path_of("link"), other));
  unlink(path_of("fresh"));
  snprintf(other, sizeof other, "%s/fresh", folder);
  CU_ASSERT_TRUE(hr_output_same(path_of("dangling"), other));
  CU_ASSERT_FALSE(hr_output_same(path_of("target"), other));
  CU_ASSERT_FALSE(hr_output_same(path_of("missing"), other));
  static const char *const names[] = {"target", "link", "dangling", "loop"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(path_of(names[i]));
}

static void error_names_unwritable_path(void) {
  struct hr__output_file file;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr__output_open(&file, path_of("missing/a.csv"), &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "missing/a.csv: cannot be written: No such file"));
  CU_ASSERT_EQUAL(hr__output_open(&file, folder, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "directory"));
}

static void full_disk_is_an_error(void) {
  struct hr__output_file file;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&file, "/dev/full", &error), HR_OK);
  fputs("x", file.stream);
  CU_ASSERT_EQUAL(hr__output_commit(&file, &error), HR_IO_ERROR);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/dev/full: cannot be written: No space left"));
  unlink(path_of("a.csv"));
  rmdir(folder);
}

TEST_MAIN("sim output file", TEST(file_appears_at_commit), TEST(abandon_keeps_old_file), TEST(replacement_keeps_mode),
          TEST(incomplete_file_has_no_name), TEST(last_commit_replaces_file), TEST(names_of_maximum_length),
          TEST(discard_file_without_name), TEST(discard_temporary_files), TEST(more_files_than_list_has_room_for),
          TEST(held_files_appear_together), TEST(signal_discards_held_files), TEST(links_are_followed),
          TEST(error_names_unwritable_path), TEST(full_disk_is_an_error))
