/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Line breaks of the console: no line break separates a number from its unit. */

#include "base/text.h"

#include "harness.h"
#include "output_files.h"

#include <string.h>

/* Returns the output for a text of `before` times "x", followed by words. The caller frees the output. */
static char *wrapped(size_t before, const char *words) {
  char text[200];
  memset(text, 'x', before);
  snprintf(text + before, sizeof text - before, " %s", words);
  FILE *out = fopen(files_path("lines.txt"), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  struct hr__console console = {.out = out};
  hr__put_field(&console, "found", "%s", text);
  fclose(out);
  return files_read(files_path("lines.txt"));
}

static void no_break_between_number_and_unit(void) {
  static const char *const words[] = {"48 h",   "3.5 d, then", "10 min; more", "25 %)",     "-3 %.",
                                      "1.25 s", "(12 GiB)",    "500 us on",    "2 w 12 min"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    for (size_t before = 40; before < 70; before++) {
      char *text = wrapped(before, words[i]);
      CU_ASSERT_PTR_NULL(strstr(text, "\n             h"));
      CU_ASSERT_PTR_NULL(strstr(text, "\n             d"));
      CU_ASSERT_PTR_NULL(strstr(text, "\n             min"));
      CU_ASSERT_PTR_NULL(strstr(text, "\n             %"));
      CU_ASSERT_PTR_NULL(strstr(text, "\n             s"));
      CU_ASSERT_PTR_NULL(strstr(text, "\n             GiB"));
      CU_ASSERT_PTR_NULL(strstr(text, "\n             us"));
      for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) CU_ASSERT(strlen(line) <= 80);
      free(text);
    }
}

static void lines_break_between_words(void) {
  char *text = wrapped(60, "jobs of 48 hosts");
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "jobs\n             of 48 hosts\n"));
  free(text);
  text = wrapped(63, "48 hosts");
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "x 48\n             hosts\n"));
  free(text);
}

static void names_cannot_change_other_text(void) {
  /* NOLINTNEXTLINE(misc-misleading-bidirectional): the text under test */
  static const char name[] = "a\x1b[31m\xe2\x80\xae\xc2\x9b+\xc3\xbc";
  struct hr__console console = {.out = NULL};
  char *text = hr__presentable(&console, name);
  CU_ASSERT_STRING_EQUAL(text, "a?[31m??+\xc3\xbc");
  free(text);
  console.out = fopen(files_path("name.md"), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(console.out);
  hr__markdown_text(&console, name);
  fclose(console.out);
  text = files_read(files_path("name.md"));
  CU_ASSERT_STRING_EQUAL(text, "a?\\[31m??+\xc3\xbc");
  free(text);
}

TEST_MAIN("report: console", TEST(no_break_between_number_and_unit), TEST(lines_break_between_words),
          TEST(names_cannot_change_other_text))
