/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A check as Markdown for the comment of a pull request: what failed as tables, the rest folded away. */

#include "plan/checking.h"
#include "plan/figures.h"
#include "report/console.h"
#include "sim/output_file.h"

#include <stdlib.h>
#include <string.h>

/* A comment may have 65,536 characters. */
enum { MOST_CASES = 8, MOST_LINES = 200, MOST_ROWS = 24 };

/* A text in which nothing is markup. */
static void put_text(struct hr__console *console, const char *text) {
  char *clean = hr__presentable(console, text);
  for (const char *at = clean; at && *at; at++) {
    if (strchr("\\`*_|<>[]#~@", *at)) fputc('\\', console->out);
    fputc(*at, console->out);
  }
  free(clean);
}

static void put_sentence(void *self, const char *sentence) {
  struct hr__console *console = self;
  fputs("- ", console->out);
  put_text(console, sentence);
  fputc('\n', console->out);
}

static void put_moved(struct hr__console *console, const struct hr__moved *moved) {
  char before[HR__FIGURE_BYTES], now[HR__FIGURE_BYTES], change[HR__FIGURE_BYTES];
  const char *strong = moved->verdict == HR__WORSE ? "**" : "";
  fputs("| ", console->out);
  put_text(console, moved->label);
  hr__moved_texts(moved, before, now);
  fprintf(console->out, " | %s | %s%s%s | %s", before, strong, now, strong, hr__change_text(moved, change));
  fprintf(console->out, " | %s |\n", moved->verdict == HR__WORSE ? ":x: failed" : hr__verdict_word(moved->verdict));
}

static void put_table(struct hr__console *console, const struct hr__check_case *item) {
  size_t shown = 0;
  if (item->n_moved == 0) return;
  fputs("| figure | baseline | now | change | |\n|---|---:|---:|---:|---|\n", console->out);
  for (int failing = 1; failing >= 0; failing--)
    for (size_t i = 0; i < item->n_moved && shown < MOST_ROWS; i++) {
      if ((item->moved[i].verdict == HR__WORSE) != failing) continue;
      put_moved(console, &item->moved[i]);
      shown++;
    }
  if (shown < item->n_moved) fprintf(console->out, "\nand %zu more figures\n", item->n_moved - shown);
  fputc('\n', console->out);
}

static void put_case(struct hr__console *console, const struct hr__check_case *item) {
  static const char *const words[] = {[HR__CASE_TOLD] = "passed, but not the same",
                                      [HR__CASE_NEW] = "new",
                                      [HR__CASE_GONE] = "gone",
                                      [HR__CASE_FAILED] = "failed"};
  const struct hr__sentences to = {.self = console, .put = put_sentence};
  fputs("\n### ", console->out);
  put_text(console, item->name);
  fprintf(console->out, ": %s\n\n", words[item->verdict]);
  put_table(console, item);
  hr__case_tell(item, &to);
}

static void put_line(struct hr__console *console, const struct hr__check_case *item) {
  char summary[100];
  hr__case_summary(item, summary, sizeof summary);
  fputs("- ", console->out);
  put_text(console, item->name);
  fprintf(console->out, ": %s\n", summary);
}

/* Those that failed, or those that passed and are not the same; of many, the first whole and the others in a line. */
static void put_cases(struct hr__console *console, const struct hr_check *check, bool failed) {
  size_t count = 0;
  for (size_t i = 0; i < check->n_cases; i++) {
    const struct hr__check_case *item = &check->cases[i];
    if (item->verdict == HR__CASE_SAME || hr__case_failed(item) != failed) continue;
    if (count == MOST_CASES) fputs("\n### And\n\n", console->out);
    if (count < MOST_CASES)
      put_case(console, item);
    else if (count < MOST_LINES)
      put_line(console, item);
    count++;
  }
  if (count > MOST_LINES) fprintf(console->out, "\nand %zu more\n", count - MOST_LINES);
}

static bool any_told(const struct hr_check *check) {
  for (size_t i = 0; i < check->n_cases; i++)
    if (check->cases[i].verdict == HR__CASE_TOLD) return true;
  return false;
}

static void put_page(struct hr__console *console, const struct hr_check *check) {
  char headline[100];
  hr__check_headline(check, headline, sizeof headline);
  fprintf(console->out, "## %s headroom check: %s\n\nSuite ",
          hr_check_passed(check) ? ":white_check_mark:" : ":x:", headline);
  put_text(console, check->config.suite->path);
  fputs(", baseline ", console->out);
  put_text(console, check->config.baseline_path);
  fputs(".\n", console->out);
  for (size_t i = 0; i < check->notes.count; i++) {
    fputc('\n', console->out);
    put_text(console, check->notes.text[i]);
    fputs(".\n", console->out);
  }
  put_cases(console, check, true);
  if (!any_told(check)) return;
  fputs("\n<details><summary>Runs that passed, and are not the same as before</summary>\n", console->out);
  put_cases(console, check, false);
  fputs("\n</details>\n", console->out);
}

enum hr_status hr_check_write_markdown(const char *path, const struct hr_check *check, struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  struct hr__console console = {.out = file.stream};
  put_page(&console, check);
  if (!console.out_of_memory) return hr__output_commit(&file, error);
  hr__output_abandon(&file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}
