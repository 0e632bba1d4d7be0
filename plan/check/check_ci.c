/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GitHub's workflow commands: "::error file=F,title=T::MESSAGE", in which some characters are written as %XX. Source:
   docs.github.com, "Workflow commands for GitHub Actions"; escapes as in actions/toolkit, packages/core/src/command.ts.
 */

#include "base/console.h"
#include "base/output_file.h"
#include "base/text.h"
#include "plan/check/checking.h"
#include "plan/compare/compare_table.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FIGURES = 3 };

struct check_ci_page {
  FILE *out;
  bool property; /* or else the message */
  bool out_of_memory;
};

static void put_text(struct check_ci_page *page, const char *text) {
  char *utf8 = hr__utf8_copy(text);
  if (!utf8) page->out_of_memory = true;
  for (const char *at = utf8; at && *at; at++) {
    bool escaped = *at == '%' || *at == '\r' || *at == '\n' || (page->property && (*at == ':' || *at == ','));
    fprintf(page->out, escaped ? "%%%02X" : "%c", (unsigned char)*at);
  }
  free(utf8);
}

static void put_sentence(void *self, const char *sentence) {
  put_text(self, sentence);
  put_text(self, "\n");
}

static void put_figures(struct check_ci_page *page, const struct hr__check_case *item) {
  size_t shown = 0, worse = hr__case_worse(item);
  for (size_t i = 0; i < item->n_moved && shown < MOST_FIGURES; i++) {
    char before[HR__FIGURE_BYTES], now[HR__FIGURE_BYTES], line[HR__LABEL_BYTES + 3 * HR__FIGURE_BYTES];
    const struct hr__moved *moved = &item->moved[i];
    if (moved->verdict != HR__WORSE) continue;
    hr__moved_texts(moved, before, now);
    snprintf(line, sizeof line, "%s: %s, was %s\n", moved->label, now, before);
    put_text(page, line);
    shown++;
  }
  char more[60];
  snprintf(more, sizeof more, "and %zu more figures\n", worse - shown);
  if (worse > shown) put_text(page, more);
}

enum hr_status hr_check_annotate(FILE *out, const struct hr_check *check) {
  struct check_ci_page page = {.out = out};
  for (size_t i = 0; i < check->n_cases; i++) {
    const struct hr__check_case *item = &check->cases[i];
    const struct hr__sentences to = {.self = &page, .put = put_sentence};
    if (!hr__case_failed(item)) continue;
    page.property = true;
    fputs("::error file=", out);
    put_text(&page, item->run ? item->run->scenario : check->config.baseline_path);
    fputs(",title=", out);
    put_text(&page, "headroom check: ");
    put_text(&page, item->name);
    fputs("::", out);
    page.property = false;
    put_figures(&page, item);
    hr__case_tell(item, &to);
    fputc('\n', out);
  }
  return page.out_of_memory ? HR_NO_MEMORY : HR_OK;
}

/*
 * A check as JUnit XML, as Jenkins, GitLab and GitHub's actions read it: a test case for each run, what it fails by as
 * text inside. No times: the file depends on what was run alone.
 */

struct junit_page {
  FILE *out;
  bool out_of_memory;
};

/* Text that means itself, in attributes, too. XML 1.0 has no way to write most control characters. */
static void junit_put_text(struct junit_page *page, const char *text) {
  static const struct {
    char byte;
    const char *entity;
  } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  char *utf8 = hr__utf8_copy(text);
  if (!utf8) page->out_of_memory = true;
  for (const char *at = utf8; at && *at; at++) {
    const char *entity = NULL;
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
      if (*at == entities[i].byte) entity = entities[i].entity;
    if (entity)
      fputs(entity, page->out);
    else
      fputc((unsigned char)*at < 0x20 && *at != '\n' ? '?' : *at, page->out);
  }
  free(utf8);
}

static void junit_put_sentence(void *self, const char *sentence) {
  junit_put_text(self, sentence);
  fputc('\n', ((struct junit_page *)self)->out);
}

static void put_moved(struct junit_page *page, const struct hr__moved *moved) {
  char before[HR__FIGURE_BYTES], now[HR__FIGURE_BYTES], change[HR__FIGURE_BYTES];
  junit_put_text(page, moved->label);
  hr__moved_texts(moved, before, now);
  fprintf(page->out, ": %s, was %s (%s) %s\n", now, before, hr__change_text(moved, change),
          hr__verdict_word(moved->verdict));
}

static void put_case(struct junit_page *page, const struct hr__check_case *item) {
  const struct hr__sentences to = {.self = page, .put = junit_put_sentence};
  char summary[100];
  fputs("    <testcase classname=\"headroom.check\" name=\"", page->out);
  junit_put_text(page, item->name);
  if (!hr__case_failed(item)) {
    fputs("\"/>\n", page->out);
    return;
  }
  fputs("\">\n      <failure type=\"", page->out);
  fputs(item->verdict == HR__CASE_FAILED ? "changed" : item->verdict == HR__CASE_NEW ? "new" : "gone", page->out);
  fputs("\" message=\"", page->out);
  hr__case_summary(item, summary, sizeof summary);
  junit_put_text(page, summary);
  fputs("\">", page->out);
  for (size_t i = 0; i < item->n_moved; i++) put_moved(page, &item->moved[i]);
  hr__case_tell(item, &to);
  fputs("</failure>\n    </testcase>\n", page->out);
}

enum hr_status hr_check_write_junit(const char *path, const struct hr_check *check, struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  struct junit_page page = {.out = file.stream};
  size_t failures = hr_check_failures(check);
  fprintf(page.out,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n",
          check->n_cases, failures);
  fputs("  <testsuite name=\"", page.out);
  junit_put_text(&page, hr__base_name(check->config.suite->path));
  fprintf(page.out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\">\n", check->n_cases, failures);
  for (size_t i = 0; i < check->n_cases; i++) put_case(&page, &check->cases[i]);
  fputs("  </testsuite>\n</testsuites>\n", page.out);
  if (!page.out_of_memory) return hr__output_commit(&file, error);
  hr__output_abandon(&file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}

/* A check as Markdown for the comment of a pull request: what failed as tables, the rest folded away. */

/* A comment may have 65,536 characters. */
enum { MOST_CASES = 8, MOST_LINES = 200, MOST_ROWS = 24 };

/* A text in which nothing is markup. */
static void markdown_put_text(struct hr__console *console, const char *text) {
  char *clean = hr__presentable(console, text);
  for (const char *at = clean; at && *at; at++) {
    if (strchr("\\`*_|<>[]#~@", *at)) fputc('\\', console->out);
    fputc(*at, console->out);
  }
  free(clean);
}

static void markdown_put_sentence(void *self, const char *sentence) {
  struct hr__console *console = self;
  fputs("- ", console->out);
  markdown_put_text(console, sentence);
  fputc('\n', console->out);
}

static void markdown_put_moved(struct hr__console *console, const struct hr__moved *moved) {
  char before[HR__FIGURE_BYTES], now[HR__FIGURE_BYTES], change[HR__FIGURE_BYTES];
  const char *strong = moved->verdict == HR__WORSE ? "**" : "";
  fputs("| ", console->out);
  markdown_put_text(console, moved->label);
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
      markdown_put_moved(console, &item->moved[i]);
      shown++;
    }
  if (shown < item->n_moved) fprintf(console->out, "\nand %zu more figures\n", item->n_moved - shown);
  fputc('\n', console->out);
}

static void markdown_put_case(struct hr__console *console, const struct hr__check_case *item) {
  static const char *const words[] = {[HR__CASE_TOLD] = "passed, but not the same",
                                      [HR__CASE_NEW] = "new",
                                      [HR__CASE_GONE] = "gone",
                                      [HR__CASE_FAILED] = "failed"};
  const struct hr__sentences to = {.self = console, .put = markdown_put_sentence};
  fputs("\n### ", console->out);
  markdown_put_text(console, item->name);
  fprintf(console->out, ": %s\n\n", words[item->verdict]);
  put_table(console, item);
  hr__case_tell(item, &to);
}

static void put_line(struct hr__console *console, const struct hr__check_case *item) {
  char summary[100];
  hr__case_summary(item, summary, sizeof summary);
  fputs("- ", console->out);
  markdown_put_text(console, item->name);
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
      markdown_put_case(console, item);
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
  markdown_put_text(console, check->config.suite->path);
  fputs(", baseline ", console->out);
  markdown_put_text(console, check->config.baseline_path);
  fputs(".\n", console->out);
  for (size_t i = 0; i < check->notes.count; i++) {
    fputc('\n', console->out);
    markdown_put_text(console, check->notes.text[i]);
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
