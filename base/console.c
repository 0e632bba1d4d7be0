/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Printing for terminals and for Markdown: the width of UTF-8 text, truncation, line wrapping, labels. */

#include "base/console.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Returns how many bytes the first `width` characters of a text have. */
static size_t bytes_of(const char *text, size_t width) {
  size_t bytes = 0;
  while (text[bytes] && (width > 0 || !hr__begins_character(text[bytes]))) width -= hr__begins_character(text[bytes++]);
  return bytes;
}

/* Returns a copy that is safe to print (hr__presentable). */
static char *presentable(struct hr__console *console, const char *text) {
  char *copy = hr__utf8_copy(text), *end = copy;
  if (!copy) console->out_of_memory = true;
  for (const char *at = copy; at && *at;) {
    size_t length = hr__utf8_length(at);
    if (hr__is_control(at, length))
      *end++ = '?';
    else
      end = (char *)memmove(end, at, length) + length;
    at += length;
  }
  if (copy) *end = '\0';
  return copy;
}

char *hr__fitted(struct hr__console *console, const char *text, size_t width, bool keep_end) {
  char *copy = presentable(console, text);
  if (!copy) return NULL;
  size_t length = strlen(copy), all = hr__width_of(copy, length);
  if (all <= width) return copy;
  if (keep_end) {
    size_t from = bytes_of(copy, all - width + 3);
    memmove(copy + 3, copy + from, length - from + 1);
    memcpy(copy, "...", 3);
  } else {
    strcpy(copy + bytes_of(copy, width - 3), "...");
  }
  return copy;
}

/* Returns whether the text begins with a unit of time, of bytes or per cent, which must stay on the line of the
   preceding number. */
static bool begins_with_unit(const char *text) {
  static const char *const units[] = {"us", "ms", "s", "min", "h", "d", "w", "%", "GiB", "MiB"};
  size_t bytes = strcspn(text, " ,;:.)");
  if (text[bytes] == '.' && text[bytes + 1] && text[bytes + 1] != ' ') return false;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strlen(units[i]) == bytes && memcmp(text, units[i], bytes) == 0) return true;
  return false;
}

static bool ends_with_digit(const char *text, size_t bytes) {
  return bytes > 0 && text[bytes - 1] >= '0' && text[bytes - 1] <= '9';
}

/* Returns how many bytes precede the first possible line break. No line break is possible between a number and its
   unit. */
static size_t unbroken_bytes(const char *text) {
  size_t bytes = strcspn(text, " ");
  while (text[bytes] == ' ' && ends_with_digit(text, bytes) && begins_with_unit(text + bytes + 1))
    bytes += 1 + strcspn(text + bytes + 1, " ");
  return bytes;
}

/* Prints words. A word that would exceed the line width is printed on the next line. */
static void print_wrapped(struct hr__console *console, const char *text) {
  size_t room = HR__LINE_WIDTH - HR__LABEL_WIDTH, column = 0;
  while (*text) {
    size_t bytes = unbroken_bytes(text), width = hr__width_of(text, bytes);
    if (column > 0 && column + 1 + width > room) {
      fprintf(console->out, "\n%*s", HR__LABEL_WIDTH, "");
      column = 0;
    }
    if (column > 0) fputc(' ', console->out);
    fwrite(text, 1, width > room ? bytes_of(text, room) : bytes, console->out);
    column += width + (column > 0);
    text += bytes;
    text += strspn(text, " ");
  }
  fputc('\n', console->out);
}

void hr__put_label(struct hr__console *console, const char *label) {
  bool fits = hr__width_of(label, strlen(label)) < HR__LABEL_WIDTH - 2;
  fprintf(console->out, "  %s%-*s%s%s", hr__dim(console), HR__LABEL_WIDTH - 2, label, fits ? "" : " ",
          hr__plain(console));
}

void hr__put_field(struct hr__console *console, const char *label, const char *format, ...) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) {
    console->out_of_memory = true;
    return;
  }
  va_list arguments;
  va_start(arguments, format);
  bool failed = vfprintf(stream, format, arguments) < 0;
  va_end(arguments);
  failed |= fclose(stream) != 0;
  char *clean = failed ? NULL : presentable(console, text);
  if (clean) {
    hr__put_label(console, label);
    print_wrapped(console, clean);
  } else {
    console->out_of_memory = true;
  }
  free(clean);
  free(text);
}

void hr__put_speed(struct hr__console *console, uint64_t runs, uint32_t threads, double sim_s, double load_s) {
  char text[3][HR__NUMBER_BYTES], read[HR__NUMBER_BYTES + 32] = "";
  if (sim_s <= 0) return;
  if (load_s > 0) snprintf(read, sizeof read, "; trace read in %s s", hr__fixed_text(load_s, 2, text[2]));
  hr__put_field(console, "speed", "%s run%s in %s s on %" PRIu32 " thread%s%s", hr__count_text(runs, text[0]),
                hr__plural(runs), hr__fixed_text(sim_s, sim_s < 0.1 ? 4 : 2, text[1]), threads, hr__plural(threads),
                read);
}

void hr__markdown_text(struct hr__console *page, const char *text) {
  char *clean = presentable(page, text);
  for (const char *at = clean; at && *at; at++) {
    if (strchr("\\`*_|<>[]#~", *at)) fputc('\\', page->out);
    fputc(*at, page->out);
  }
  free(clean);
}

void hr__markdown_head(struct hr__console *page, const char *first, const char *columns) {
  size_t count = 1;
  for (const char *at = columns; *at; at++) count += *at == '|';
  fprintf(page->out, "\n| %s |%s|\n|---|", first, columns);
  for (size_t i = 0; i < count; i++) fputs("---:|", page->out);
  fputc('\n', page->out);
}
