/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Titles of policies in tables: what distinguishes each policy from the others.
 *
 * A label is NAME or NAME:KEY=VALUE,... as the user wrote it. Parameters that all policies have are omitted. So is the
 * name, if all policies have the same one, and the key, if all policies differ in the value of one key only. Of a path
 * to a shared object, the folder and the suffix are omitted. A label that the user chose is used as it is. If two
 * titles were equal, all policies have their labels as titles.
 */

#include "base/console.h"
#include "base/text.h"
#include "plan/compare/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Parts of a label ------------------------------------------------------------------------------- */

/* A piece of a text: a name, or "KEY=VALUE". */
struct title_piece {
  const char *at;
  size_t length;
};

static struct title_piece name_of(const char *label) {
  size_t length = strcspn(label, ":"), from = 0;
  for (size_t i = 0; i < length; i++)
    if (label[i] == '/') from = i + 1;
  struct title_piece name = {label + from, length - from};
  if (name.length > 3 && name.at != label && strncmp(name.at + name.length - 3, ".so", 3) == 0) name.length -= 3;
  return name;
}

/* Sets `piece` to the next parameter of the label. Before the first call, `piece` must be zero. Returns false at the
   end. */
static bool next_param(const char *label, struct title_piece *piece) {
  const char *at = piece->at ? piece->at + piece->length : label + strcspn(label, ":");
  if (*at == '\0') return false;
  *piece = (struct title_piece){at + 1, strcspn(at + 1, ",")};
  return true;
}

static bool same_piece(struct title_piece a, struct title_piece b) {
  return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

static bool has_param(const char *label, struct title_piece param) {
  struct title_piece piece = {0};
  while (next_param(label, &piece))
    if (same_piece(piece, param)) return true;
  return false;
}

/* ---- What the policies have in common --------------------------------------------------------------- */

struct titles {
  const struct hr_contender *contenders;
  uint32_t count;
  bool same_names; /* all policies without a chosen label have the same name */
  bool one_key;    /* all of these differ in the value of one key only */
};

static bool is_common(const struct titles *titles, struct title_piece param) {
  for (uint32_t i = 0; i < titles->count; i++)
    if (!titles->contenders[i].labelled && !has_param(titles->contenders[i].label, param)) return false;
  return true;
}

/* The only parameter that distinguishes a policy; its length is 0 if there are none or several. */
static struct title_piece only_param(const struct titles *titles, const char *label) {
  struct title_piece piece = {0}, found = {0};
  while (next_param(label, &piece)) {
    if (is_common(titles, piece)) continue;
    if (found.length) return (struct title_piece){0};
    found = piece;
  }
  return found;
}

static struct title_piece key_of(struct title_piece param) {
  const char *equals = param.length ? memchr(param.at, '=', param.length) : NULL;
  return (struct title_piece){param.at, equals ? (size_t)(equals - param.at) : 0};
}

static void find_common(struct titles *titles) {
  const char *first = NULL;
  titles->same_names = titles->one_key = true;
  for (uint32_t i = 0; i < titles->count; i++) {
    const struct hr_contender *self = &titles->contenders[i];
    if (self->labelled) continue;
    if (!first) first = self->label;
    struct title_piece key = key_of(only_param(titles, self->label));
    titles->same_names = titles->same_names && same_piece(name_of(self->label), name_of(first));
    titles->one_key = titles->one_key && key.length && same_piece(key, key_of(only_param(titles, first)));
  }
  titles->one_key = titles->one_key && titles->same_names;
}

/* ---- Titles ----------------------------------------------------------------------------------------- */

static void put_piece(FILE *out, struct title_piece piece) {
  fwrite(piece.at, 1, piece.length, out);
}

static void put_title(FILE *out, const struct titles *titles, const char *label) {
  struct title_piece piece = {0}, only = only_param(titles, label), key = key_of(only);
  const char *separator = titles->same_names ? "" : ":";
  if (titles->one_key) {
    put_piece(out, (struct title_piece){key.at + key.length + 1, only.length - key.length - 1});
    return;
  }
  if (!titles->same_names) put_piece(out, name_of(label));
  bool any = !titles->same_names;
  while (next_param(label, &piece)) {
    if (is_common(titles, piece)) continue;
    fputs(separator, out);
    put_piece(out, piece);
    separator = ",";
    any = true;
  }
  if (!any) put_piece(out, name_of(label));
}

static char *make_title(const struct titles *titles, uint32_t contender) {
  const struct hr_contender *self = &titles->contenders[contender];
  char *text = NULL;
  size_t size = 0;
  if (self->labelled || titles->count == 1) return strdup(self->label);
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  put_title(out, titles, self->label);
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

static bool are_distinct(char *const *texts, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t k = 0; k < i; k++)
      if (strcmp(texts[i], texts[k]) == 0) return false;
  return true;
}

/* Calls `make` for each text. Returns NULL when out of memory. */
static char **make_all(uint32_t count, char *(*make)(const void *self, uint32_t index), const void *self) {
  char **texts = calloc((size_t)count + 1, sizeof *texts);
  for (uint32_t i = 0; texts && i < count; i++) {
    texts[i] = make(self, i);
    if (texts[i]) continue;
    hr__compare_titles_free(texts, count);
    return NULL;
  }
  return texts;
}

static char *title_at(const void *self, uint32_t index) {
  return make_title(self, index);
}

static char *label_at(const void *self, uint32_t index) {
  const struct titles *titles = self;
  return strdup(titles->contenders[index].label);
}

char **hr__compare_titles(const struct hr_contender *contenders, uint32_t count) {
  struct titles titles = {.contenders = contenders, .count = count};
  find_common(&titles);
  char **texts = make_all(count, title_at, &titles);
  if (!texts || are_distinct(texts, count)) return texts;
  hr__compare_titles_free(texts, count);
  return make_all(count, label_at, &titles);
}

/* ---- Short titles ----------------------------------------------------------------------------------- */

enum title_cut { CUT_END, CUT_BEGIN, CUT_MIDDLE, CUT_NUMBERED };

struct short_titles {
  char *const *titles;
  size_t width;
  enum title_cut cut;
};

/* Joins the begin and the end of a text that is too long. */
static char *without_middle(const char *text, size_t width) {
  struct hr__console console = {0};
  size_t half = (width - 3) / 2;
  char *begin = hr__fitted(&console, text, width - half, false), *end = hr__fitted(&console, text, half + 3, true);
  char *joined = begin && end ? malloc(strlen(begin) + strlen(end) + 1) : NULL;
  if (joined) {
    strcpy(joined, begin);
    strcat(joined, end + 3);
  }
  free(begin);
  free(end);
  return joined;
}

static char *short_at(const void *self, uint32_t index) {
  const struct short_titles *all = self;
  struct hr__console console = {0};
  const char *title = all->titles[index];
  char number[16] = "";
  bool fits = hr__width_of(title, strlen(title)) <= all->width;
  if (all->cut == CUT_MIDDLE && !fits) return without_middle(title, all->width);
  if (all->cut == CUT_NUMBERED) snprintf(number, sizeof number, "%" PRIu32 " ", index + 1);
  char *shown = hr__fitted(&console, title, all->width - strlen(number), all->cut == CUT_BEGIN);
  char *text = shown ? malloc(strlen(number) + strlen(shown) + 1) : NULL;
  if (text) {
    strcpy(text, number);
    strcat(text, shown);
  }
  free(shown);
  return text;
}

char **hr__compare_short_titles(char *const *titles, uint32_t count, size_t width, bool *numbered) {
  struct short_titles all = {titles, width, CUT_END};
  for (;; all.cut++) {
    char **texts = make_all(count, short_at, &all);
    *numbered = all.cut == CUT_NUMBERED;
    if (!texts || *numbered || are_distinct(texts, count)) return texts;
    hr__compare_titles_free(texts, count);
  }
}
