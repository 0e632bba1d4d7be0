/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A check as JUnit XML, as Jenkins, GitLab and GitHub's actions read it: a test case for each run, what it fails by as
 * text inside. No times: the file depends on what was run alone.
 */

#include "plan/checking.h"
#include "plan/figures.h"
#include "report/text.h"
#include "sim/output_file.h"

#include <stdlib.h>
#include <string.h>

struct page {
  FILE *out;
  bool out_of_memory;
};

/* Text that means itself, in attributes, too. XML 1.0 has no way to write most control characters. */
static void put_text(struct page *page, const char *text) {
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

static void put_sentence(void *self, const char *sentence) {
  put_text(self, sentence);
  fputc('\n', ((struct page *)self)->out);
}

static void put_moved(struct page *page, const struct hr__moved *moved) {
  char before[HR__FIGURE_BYTES], now[HR__FIGURE_BYTES], change[HR__FIGURE_BYTES];
  put_text(page, moved->label);
  hr__moved_texts(moved, before, now);
  fprintf(page->out, ": %s, was %s (%s) %s\n", now, before, hr__change_text(moved, change),
          hr__verdict_word(moved->verdict));
}

static void put_case(struct page *page, const struct hr__check_case *item) {
  const struct hr__sentences to = {.self = page, .put = put_sentence};
  char summary[100];
  fputs("    <testcase classname=\"headroom.check\" name=\"", page->out);
  put_text(page, item->name);
  if (!hr__case_failed(item)) {
    fputs("\"/>\n", page->out);
    return;
  }
  fputs("\">\n      <failure type=\"", page->out);
  fputs(item->verdict == HR__CASE_FAILED ? "changed" : item->verdict == HR__CASE_NEW ? "new" : "gone", page->out);
  fputs("\" message=\"", page->out);
  hr__case_summary(item, summary, sizeof summary);
  put_text(page, summary);
  fputs("\">", page->out);
  for (size_t i = 0; i < item->n_moved; i++) put_moved(page, &item->moved[i]);
  hr__case_tell(item, &to);
  fputs("</failure>\n    </testcase>\n", page->out);
}

enum hr_status hr_check_write_junit(const char *path, const struct hr_check *check, struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  struct page page = {.out = file.stream};
  size_t failures = hr_check_failures(check);
  fprintf(page.out,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n",
          check->n_cases, failures);
  fputs("  <testsuite name=\"", page.out);
  put_text(&page, hr__base_name(check->config.suite->path));
  fprintf(page.out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\">\n", check->n_cases, failures);
  for (size_t i = 0; i < check->n_cases; i++) put_case(&page, &check->cases[i]);
  fputs("  </testsuite>\n</testsuites>\n", page.out);
  if (!page.out_of_memory) return hr__output_commit(&file, error);
  hr__output_abandon(&file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}
