/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A check for a person at a terminal: only what moved. */

#include "plan/checking.h"
#include "plan/figures.h"
#include "report/console.h"

#include <stdlib.h>
#include <string.h>

enum { LABEL = 33, VALUE = 13, CHANGE = 9, MOST_ROWS = 24, MOST_TABLES = 6 };

/* Words broken into lines, two columns in. */
static void put_wrapped(struct hr__console *console, const char *text) {
  char *clean = hr__presentable(console, text);
  size_t column = 0;
  for (const char *at = clean; at && *at;) {
    size_t bytes = strcspn(at, " "), width = hr__width_of(at, bytes);
    bool breaks = column > 0 && column + 1 + width > HR__LINE_WIDTH;
    if (column == 0 || breaks) {
      fputs(breaks ? "\n    " : "  ", console->out);
      column = breaks ? 4 : 2;
    } else {
      fputc(' ', console->out);
      column++;
    }
    fwrite(at, 1, bytes, console->out);
    column += width;
    at += bytes + strspn(at + bytes, " ");
  }
  fputc('\n', console->out);
  free(clean);
}

static void put_sentence(void *self, const char *sentence) {
  put_wrapped(self, sentence);
}

/* Right-aligned in columns, not bytes. */
static void put_right(FILE *out, const char *text, int width) {
  int has = (int)hr__width_of(text, strlen(text));
  fprintf(out, " %*s%s", has < width ? width - has : 0, "", text);
}

/* What does not fit has a line of its own: names tell figures apart by their ends and their begins. */
static void put_label(struct hr__console *console, const char *text) {
  char *label = hr__fitted(console, text, HR__LINE_WIDTH - 2, false);
  size_t width = label ? hr__width_of(label, strlen(label)) : 0;
  fprintf(console->out, "  %s", label ? label : "");
  if (width > LABEL)
    fprintf(console->out, "\n  %*s", LABEL, "");
  else
    fprintf(console->out, "%*s", LABEL - (int)width, "");
  free(label);
}

static void put_moved(struct hr__console *console, const struct hr__moved *moved) {
  char before[HR__FIGURE_BYTES], now[HR__FIGURE_BYTES], change[HR__FIGURE_BYTES];
  bool failed = moved->verdict == HR__WORSE;
  put_label(console, moved->label);
  hr__moved_texts(moved, before, now);
  put_right(console->out, before, VALUE);
  put_right(console->out, now, VALUE);
  put_right(console->out, hr__change_text(moved, change), CHANGE);
  fprintf(console->out, " %s%s%s\n", failed ? hr__bold(console) : hr__dim(console), hr__verdict_word(moved->verdict),
          hr__plain(console));
}

static void put_table(struct hr__console *console, const struct hr__check_case *item) {
  size_t shown = 0;
  if (item->n_moved == 0) return;
  fprintf(console->out, "  %s%-*s %*s %*s %*s%s\n", hr__dim(console), LABEL, "figure", VALUE, "baseline", VALUE, "now",
          CHANGE, "change", hr__plain(console));
  for (int failing = 1; failing >= 0; failing--)
    for (size_t i = 0; i < item->n_moved && shown < MOST_ROWS; i++) {
      if ((item->moved[i].verdict == HR__WORSE) != failing) continue;
      put_moved(console, &item->moved[i]);
      shown++;
    }
  if (shown < item->n_moved)
    fprintf(console->out, "  and %zu more figures, which --json holds\n", item->n_moved - shown);
}

static void put_head(struct hr__console *console, const struct hr__check_case *item, bool updating,
                     const char *summary) {
  static const char *const words[] = {[HR__CASE_TOLD] = "passed, and yet",
                                      [HR__CASE_NEW] = "NEW",
                                      [HR__CASE_GONE] = "GONE",
                                      [HR__CASE_FAILED] = "FAILED"};
  char *name = hr__fitted(console, item->name, HR__LINE_WIDTH - 18 - strlen(summary), true);
  fprintf(console->out, "%s%s %s%s%s%s\n", hr__bold(console), updating ? "updated" : words[item->verdict],
          name ? name : "", hr__plain(console), summary[0] ? ": " : "", summary);
  free(name);
}

static void put_case(struct hr__console *console, const struct hr__check_case *item, bool updating) {
  const struct hr__sentences to = {.self = console, .put = put_sentence};
  put_head(console, item, updating, "");
  put_table(console, item);
  hr__case_tell(item, &to);
  fputc('\n', console->out);
}

/* Those that failed, or those that passed and are not the same; of many, the first whole and the others in a line. */
static size_t put_cases(struct hr__console *console, const struct hr_check *check, bool failed, bool updating) {
  size_t count = 0;
  for (size_t i = 0; i < check->n_cases; i++) {
    const struct hr__check_case *item = &check->cases[i];
    char summary[100];
    if (item->verdict == HR__CASE_SAME || hr__case_failed(item) != failed) continue;
    if (count++ < MOST_TABLES) {
      put_case(console, item, updating);
    } else {
      hr__case_summary(item, summary, sizeof summary);
      put_head(console, item, updating, summary);
    }
  }
  if (count > MOST_TABLES) fputc('\n', console->out);
  return count;
}

enum hr_status hr_check_print(FILE *out, const struct hr_check *check, bool updating, bool colour) {
  struct hr__console console = {.out = out, .colour = colour};
  char headline[100];
  hr__check_headline(check, headline, sizeof headline);
  size_t others = put_cases(&console, check, true, updating);
  others += put_cases(&console, check, false, updating);
  if (updating)
    fprintf(out, "%zu run%s in the baseline, %zu of them other than before\n", check->n_cases,
            check->n_cases == 1 ? "" : "s", others);
  else
    fprintf(out, "%s%s%s\n", hr__bold(&console), headline, hr__plain(&console));
  return console.out_of_memory ? HR_NO_MEMORY : HR_OK;
}
