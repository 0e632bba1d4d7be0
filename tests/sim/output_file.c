/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file appears under its name completely or not at all. */

#include "base/output_file.h"
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/headroom-test-XXXXXX";

static const char *in_folder(const char *name) {
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

static void a_file_appears_when_committed(void) {
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
  struct hr__output_file file;
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&file, in_folder("a.csv"), NULL), HR_OK);
  fputs("whole\n", file.stream);
  CU_ASSERT_NOT_EQUAL(access(in_folder("a.csv"), F_OK), 0);
  CU_ASSERT_EQUAL(hr__output_commit(&file, NULL), HR_OK);
  CU_ASSERT_EQUAL(access(in_folder("a.csv"), F_OK), 0);
  CU_ASSERT_EQUAL(count_files(), 1);
}

static void an_abandoned_file_leaves_the_old_one(void) {
  struct hr__output_file file;
  CU_ASSERT_EQUAL_FATAL(chmod(in_folder("a.csv"), 0640), 0);
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&file, in_folder("a.csv"), NULL), HR_OK);
  fputs("half", file.stream);
  hr__output_abandon(&file);
  hr__output_abandon(&file);
  CU_ASSERT_EQUAL(count_files(), 1);
  FILE *old = fopen(in_folder("a.csv"), "r");
  char text[16] = "";
  CU_ASSERT_PTR_NOT_NULL(fgets(text, sizeof text, old));
  CU_ASSERT_STRING_EQUAL(text, "whole\n");
  fclose(old);
}

static void a_new_version_keeps_the_mode(void) {
  struct hr__output_file file;
  struct stat info;
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&file, in_folder("a.csv"), NULL), HR_OK);
  CU_ASSERT_EQUAL(hr__output_commit(&file, NULL), HR_OK);
  CU_ASSERT_EQUAL(stat(in_folder("a.csv"), &info), 0);
  CU_ASSERT_EQUAL(info.st_mode & 0777, 0640);
}

/* An incomplete file is not visible under any name, so kill -9 leaves nothing. */
static void no_name_is_taken_before(void) {
  struct hr__output_file fresh, newer;
  int before = count_files();
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&fresh, in_folder("new.csv"), NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&newer, in_folder("a.csv"), NULL), HR_OK);
  if (fresh.nameless) CU_ASSERT_EQUAL(count_files(), before);
  fputs("newer\n", newer.stream);
  CU_ASSERT_EQUAL(hr__output_commit(&fresh, NULL), HR_OK);
  CU_ASSERT_EQUAL(hr__output_commit(&newer, NULL), HR_OK);
  CU_ASSERT_EQUAL(count_files(), before + 1);
  unlink(in_folder("new.csv"));
}

/* A file of that name that is created meanwhile stays until the new one is complete. */
static void a_name_that_is_taken_meanwhile_is_taken_over(void) {
  struct hr__output_file files[2];
  for (int i = 0; i < 2; i++) CU_ASSERT_EQUAL_FATAL(hr__output_open(&files[i], in_folder("both.csv"), NULL), HR_OK);
  for (int i = 0; i < 2; i++) fprintf(files[i].stream, "%d", i);
  for (int i = 0; i < 2; i++) CU_ASSERT_EQUAL(hr__output_commit(&files[i], NULL), HR_OK);
  FILE *last = fopen(in_folder("both.csv"), "r");
  CU_ASSERT_EQUAL(fgetc(last), '1');
  fclose(last);
  unlink(in_folder("both.csv"));
  CU_ASSERT_EQUAL(count_files(), 1);
}

/* The longest name that a folder accepts, new and again. */
static void long_names_can_be_written(void) {
  char name[256];
  memset(name, 'n', 255);
  name[255] = '\0';
  static char path[400];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  struct hr__output_file probe;
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&probe, in_folder("probe"), NULL), HR_OK);
  bool nameless = probe.nameless; /* otherwise a name beside it would be too long */
  hr__output_abandon(&probe);
  if (!nameless) return;
  for (int i = 0; i < 2; i++) {
    struct hr__output_file file;
    CU_ASSERT_EQUAL_FATAL(hr__output_open(&file, path, NULL), HR_OK);
    CU_ASSERT_EQUAL(hr__output_commit(&file, NULL), HR_OK);
  }
  unlink(path);
}

static void what_has_no_name_can_be_discarded(void) {
  struct hr__output_file file;
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&file, in_folder("b.csv"), NULL), HR_OK);
  hr_discard_unfinished();
  CU_ASSERT_EQUAL(hr__output_commit(&file, NULL), HR_IO_ERROR);
  CU_ASSERT_EQUAL(count_files(), 1);
}

static void what_is_unfinished_can_be_discarded(void) {
  hr__unfinished_name_all(true);
  struct hr__output_file files[3];
  static const char *const names[] = {"b.csv", "c.csv", "d.csv"};
  for (int i = 0; i < 3; i++) CU_ASSERT_EQUAL_FATAL(hr__output_open(&files[i], in_folder(names[i]), NULL), HR_OK);
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
  for (int i = 0; i < 2; i++) free(temporaries[i]); /* the discarded paths remain readable until the process ends */
  unlink(in_folder("b.csv"));
  a_new_version_keeps_the_mode();
  hr__unfinished_name_all(false);
}

static void more_files_than_are_listed_can_be_written(void) {
  enum { FILES = 100 };
  static struct hr__output_file files[FILES];
  char name[20];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < FILES; i++) {
      snprintf(name, sizeof name, "%d.csv", i);
      CU_ASSERT_EQUAL_FATAL(hr__output_open(&files[i], in_folder(name), NULL), HR_OK);
    }
    for (int i = 1; i < FILES; i += 2) CU_ASSERT_EQUAL(hr__output_commit(&files[i], NULL), HR_OK);
    for (int i = 0; i < FILES; i += 2) hr__output_abandon(&files[i]);
    hr_discard_unfinished();
    CU_ASSERT_EQUAL(count_files(), 1 + FILES / 2);
  }
  for (int i = 0; i < FILES; i++) {
    snprintf(name, sizeof name, "%d.csv", i);
    unlink(in_folder(name));
  }
}

static void places_that_cannot_be_written_are_named(void) {
  struct hr__output_file file;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr__output_open(&file, in_folder("missing/a.csv"), &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "missing/a.csv: cannot be written: No such file"));
  CU_ASSERT_EQUAL(hr__output_open(&file, folder, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "directory"));
}

static void a_full_disk_is_an_error(void) {
  struct hr__output_file file;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr__output_open(&file, "/dev/full", &error), HR_OK);
  fputs("x", file.stream);
  CU_ASSERT_EQUAL(hr__output_commit(&file, &error), HR_IO_ERROR);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/dev/full: cannot be written: No space left"));
  unlink(in_folder("a.csv"));
  rmdir(folder);
}

TEST_MAIN("sim output file", TEST(a_file_appears_when_committed), TEST(an_abandoned_file_leaves_the_old_one),
          TEST(a_new_version_keeps_the_mode), TEST(no_name_is_taken_before),
          TEST(a_name_that_is_taken_meanwhile_is_taken_over), TEST(long_names_can_be_written),
          TEST(what_has_no_name_can_be_discarded), TEST(what_is_unfinished_can_be_discarded),
          TEST(more_files_than_are_listed_can_be_written), TEST(places_that_cannot_be_written_are_named),
          TEST(a_full_disk_is_an_error))
