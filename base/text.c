/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text: whole files; numbers, durations and money as text; UTF-8; output for terminals and Markdown; errors and notes.
 *
 * Numbers are formatted without printf for two reasons. First, printf would take most of the time when rows of numbers
 * are written. Second, the decimal point of printf depends on the locale.
 *
 * Invariant: text from the input is made safe before it is printed or stored in an error or a note. It then has no
 * control characters and no bytes that are not UTF-8.
 */

#include "base/text.h"
#include "base/containers.h"
#include "base/process.h"
#include "headroom/base.h"

#include <gsl/gsl_errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Whole files ----------------------------------------------------------------------------------- */

enum { MIN_READ = 4096 };

char *hr__file_text(FILE *file, size_t max_bytes, size_t *length) {
  char *text = NULL;
  uint32_t capacity = 0;
  *length = 0;
  do {
    if (!HR__ARRAY_HAS_ROOM_FOR(text, *length + MIN_READ, capacity)) {
      free(text);
      return NULL;
    }
    *length += fread(text + *length, 1, capacity - *length - 1, file);
  } while (*length == capacity - 1 && *length <= max_bytes);
  text[*length] = '\0';
  return text;
}

char *hr__stream_text(FILE *stream, char **text) {
  if (fclose(stream) == 0) return *text;
  free(*text);
  return NULL;
}

/* ---- Numbers --------------------------------------------------------------------------------------- */

char *hr__put_u64(char *at, uint64_t value) {
  char digits[20];
  size_t first = sizeof digits;
  do {
    digits[--first] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  while (first < sizeof digits) *at++ = digits[first++];
  return at;
}

static uint64_t magnitude_of(int64_t value) {
  return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

/* Writes `value` / `unit` as a decimal. `unit` is 10^`digits`. `trims`: without zeros at the end of the decimals. All
   three are constants at each call, so the compiler replaces the divisions by multiplications. */
static inline char *put_scaled(char *at, int64_t value, uint32_t unit, unsigned digits, bool trims) {
  uint64_t magnitude = magnitude_of(value);
  uint32_t fraction = (uint32_t)(magnitude % unit);
  if (value < 0) *at++ = '-';
  at = hr__put_u64(at, magnitude / unit);
  if (trims && fraction == 0) return at;
  *at = '.';
  for (unsigned i = digits; i > 0; i--) {
    at[i] = (char)('0' + fraction % 10);
    fraction /= 10;
  }
  while (trims && at[digits] == '0') digits--;
  return at + digits + 1;
}

char *hr__put_millionths(char *at, int64_t value) {
  return put_scaled(at, value, 1000000, 6, true);
}

char *hr__put_thousandths(char *at, int64_t value) {
  return put_scaled(at, value, 1000, 3, true);
}

char *hr__put_usd(char *at, int64_t uusd) {
  return put_scaled(at, uusd, 1000000, 6, false);
}

/* Returns whether the value, in millionths, fits into an integer. Decimals of larger values would be meaningless,
   because a double has only about 16 significant digits. */
static bool has_micros(double value) {
  return fabs(value) < 9e12;
}

/* Writes a value without decimals. The value is limited to 10^18; no number of a result reaches this limit. */
static char *put_huge(char *at, double value) {
  if (value < 0) *at++ = '-';
  value = fmin(fabs(value), 1e18);
  return hr__put_u64(at, (uint64_t)value);
}

const char *hr__decimal_text(double value, char *buffer) {
  char *end = has_micros(value) ? hr__put_millionths(buffer, llround(value * 1e6)) : put_huge(buffer, value);
  *end = '\0';
  return buffer;
}

const char *hr__exact_text(double value, char *buffer) {
  enum { MIN_DIGITS = 15, MAX_DIGITS = 17 };
  for (int digits = MIN_DIGITS; digits <= MAX_DIGITS; digits++) {
    snprintf(buffer, HR__NUMBER_BYTES, "%.*g", digits, value);
    if (!(strtod(buffer, NULL) < value || strtod(buffer, NULL) > value)) break;
  }
  char *comma = strchr(buffer, ','); /* the decimal comma of a locale */
  if (comma) *comma = '.';
  return buffer;
}

static char *put_grouped(char *at, uint64_t value) {
  char digits[20];
  size_t count = (size_t)(hr__put_u64(digits, value) - digits);
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && (count - i) % 3 == 0) *at++ = ',';
    *at++ = digits[i];
  }
  return at;
}

const char *hr__count_text(uint64_t count, char *buffer) {
  *put_grouped(buffer, count) = '\0';
  return buffer;
}

const char *hr__fixed_text(double value, unsigned decimals, char *buffer) {
  if (!has_micros(value)) {
    *put_huge(buffer, value) = '\0';
    return buffer;
  }
  uint64_t unit = 1;
  for (unsigned i = 0; i < decimals; i++) unit *= 10;
  uint64_t scaled = (uint64_t)llround(fabs(value) * (double)unit);
  char *at = buffer;
  if (value < 0 && scaled) *at++ = '-';
  at = put_grouped(at, scaled / unit);
  if (decimals) *at++ = '.';
  for (uint64_t place = unit / 10; place; place /= 10) *at++ = (char)('0' + scaled / place % 10);
  *at = '\0';
  return buffer;
}

const char *hr__factor_text(double value, char *buffer) {
  double size = fabs(value);
  if (!isfinite(value) || size < 9999999.5) return hr__fixed_text(value, size < 10000 ? 2 : 0, buffer);
  int exponent = (int)floor(log10(size));
  if (size / pow(10, exponent) >= 9.995) exponent++;
  hr__fixed_text(value / pow(10, exponent), 2, buffer);
  char *at = buffer + strlen(buffer);
  *at++ = 'e';
  *hr__put_i64(at, exponent) = '\0';
  return buffer;
}

const char *hr__usd_text(int64_t uusd, char *buffer) {
  uint64_t size = magnitude_of(uusd), cents = (size + 5000) / 10000;
  char *at = buffer;
  if (uusd < 0 && cents) *at++ = '-';
  *at++ = '$';
  if (cents >= 999950) {
    *put_grouped(at, (size + 500000) / 1000000) = '\0';
    return buffer;
  }
  at = put_grouped(at, cents / 100);
  *at++ = '.';
  *at++ = (char)('0' + cents / 10 % 10);
  *at++ = (char)('0' + cents % 10);
  *at = '\0';
  return buffer;
}

/* Formats two units of time as "3 h 12 min". The second part is omitted if it is zero. */
static const char *two_parts(uint64_t large, const char *large_unit, uint64_t small, const char *small_unit,
                             char *buffer) {
  char *at = put_grouped(buffer, large);
  at = stpcpy(at, large_unit);
  if (small) {
    *at++ = ' ';
    at = stpcpy(hr__put_u64(at, small), small_unit);
  }
  *at = '\0';
  return buffer;
}

const char *hr__duration_text(double seconds, char *buffer) {
  if (seconds <= 0) return strcpy(buffer, "0 s");
  if (seconds < 59.95) {
    const char *text = hr__fixed_text(seconds, seconds < 9.995 ? 2 : 1, buffer);
    return strcmp(text, "0.00") == 0 ? strcpy(buffer, "< 0.01 s") : strcat(buffer, " s");
  }
  uint64_t whole = (uint64_t)fmin(round(seconds), 1e18);
  if (whole < 3600) return two_parts(whole / 60, " min", whole % 60, " s", buffer);
  uint64_t minutes = (whole + 30) / 60;
  if (minutes < 24 * 60) return two_parts(minutes / 60, " h", minutes % 60, " min", buffer);
  uint64_t hours = (whole + 1800) / 3600;
  return two_parts(hours / 24, " d", hours < 1000 * 24 ? hours % 24 : 0, " h", buffer);
}

/* ---- UTF-8 ----------------------------------------------------------------------------------------- */

size_t hr__utf8_length(const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  if (at[0] < 0x80) return 1;
  size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
  if (at[0] < 0xc2 || at[0] > 0xf4) return 0;
  for (size_t i = 1; i < length; i++)
    if ((at[i] & 0xc0) != 0x80) return 0;
  bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
  bool surrogate = at[0] == 0xed && at[1] > 0x9f, beyond = at[0] == 0xf4 && at[1] > 0x8f;
  return overlong || surrogate || beyond ? 0 : length;
}

char *hr__utf8_copy(const char *text) {
  if (hr__is_utf8(text)) return strdup(text);
  char *copy = malloc(2 * strlen(text) + 1), *end = copy;
  if (!copy) return NULL;
  for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
    if (*at >= 0x80) *end++ = (char)(0xc0 | *at >> 6);
    *end++ = (char)(*at >= 0x80 ? 0x80 | (*at & 0x3f) : *at);
  }
  *end = '\0';
  return copy;
}

/* Returns the code point of a valid UTF-8 character. */
static uint32_t code_point(const char *at, size_t length) {
  uint32_t code = (unsigned char)at[0] & (length == 1 ? 0x7fU : 0xffU >> (length + 1));
  for (size_t i = 1; i < length; i++) code = code << 6 | ((unsigned char)at[i] & 0x3fU);
  return code;
}

/* Returns whether the character of `length` bytes at `at` could change how a terminal shows other text: control
   characters (C0, DEL, C1), marks and controls of bidirectional text (Unicode Standard Annex 9), and the separators of
   lines and paragraphs (U+2028, U+2029). */
static bool is_control(const char *at, size_t length) {
  static const uint32_t ranges[][2] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
                                       {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
  uint32_t code = code_point(at, length);
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (code >= ranges[i][0] && code <= ranges[i][1]) return true;
  return false;
}

enum { SHOWN_BYTES = 8 };

/* Writes the character at `text` to `shown`, without a terminating NUL, such that it is safe for a terminal (see
   hr__copy_safe). Returns the number of bytes in `shown`, and sets `*length` to the number of bytes of the character in
   `text`. `keeps_lines`: line feeds are not replaced. */
static size_t show(const char *text, bool keeps_lines, char shown[SHOWN_BYTES], size_t *length) {
  *length = hr__utf8_length(text);
  if (*length > 0 && (!is_control(text, *length) || (keeps_lines && *text == '\n'))) {
    memcpy(shown, text, *length);
    return *length;
  }
  bool is_byte = *length < 2;
  unsigned code = is_byte ? (unsigned char)*text : code_point(text, *length) & 0xffff;
  if (*length == 0) *length = 1;
  return (size_t)snprintf(shown, SHOWN_BYTES, is_byte ? "\\x%02X" : "\\u%04X", code);
}

void hr__copy_safe(char *to, size_t size, const char *text, bool keeps_lines) {
  char shown[SHOWN_BYTES], *end = to + size - 1;
  for (size_t length; *text; text += length) {
    size_t n_shown = show(text, keeps_lines, shown, &length);
    if (n_shown > (size_t)(end - to)) break;
    memcpy(to, shown, n_shown);
    to += n_shown;
  }
  *to = '\0';
}

void hr_print_safe(FILE *out, const char *text, size_t max) {
  char shown[SHOWN_BYTES];
  for (size_t length; *text && max > 0; text += length) {
    fwrite(shown, 1, show(text, false, shown, &length), out);
    max -= length < max ? length : max;
  }
}

/* ---- Console --------------------------------------------------------------------------------------- */

/* Printing for terminals and for Markdown: the width of UTF-8 text, truncation, line wrapping, labels. */

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
    if (is_control(at, length))
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

/* Returns whether the text begins with a unit of time, a unit of bytes or a percent sign. Such a unit must be on the
   same line as the preceding number. */
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

void hr__put_fitted(struct hr__console *console, const char *text, size_t width) {
  char *fitted = hr__fitted(console, text, width - 1, false);
  if (fitted) hr__put_left(console->out, fitted, width);
  free(fitted);
}

void hr__put_page_title(struct hr__console *console, const char *what, const char *name, size_t width) {
  char *fitted = hr__fitted(console, name, width, false);
  if (!fitted) return;
  fprintf(console->out, "%sHeadroom %s: %s%s%s\n\n", hr__bold(console), hr_version(), what, fitted, hr__plain(console));
  free(fitted);
}

enum hr_status hr__console_status(const struct hr__console *console) {
  if (console->out_of_memory) return HR_NO_MEMORY;
  return ferror(console->out) ? HR_IO_ERROR : HR_OK;
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

/* ---- Errors and notes ------------------------------------------------------------------------------ */

/* Status codes, error messages, notes and spelling suggestions. */

enum hr_status hr_fail(struct hr_error *error, enum hr_status status, const char *format, ...) {
  if (error) {
    char text[sizeof error->text], *own = hr__phrased(format);
    error->status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, own ? own : format, args);
    va_end(args);
    free(own);
    hr__copy_safe(error->text, sizeof error->text, text, true);
  }
  return status;
}

int hr_status_exit_code(enum hr_status status) {
#define EXIT_CODE(name, exit_code, meaning) [name] = (exit_code),
  static const int codes[] = {HR_STATUS_TABLE(EXIT_CODE)};
  return (size_t)status < sizeof codes / sizeof *codes ? codes[status] : 4;
}

const char *hr_status_meaning(enum hr_status status) {
#define MEANING(name, exit_code, meaning) [name] = (meaning),
  static const char *const meanings[] = {HR_STATUS_TABLE(MEANING)};
  return (size_t)status < sizeof meanings / sizeof *meanings ? meanings[status] : "unknown status";
}

const char *hr_version(void) {
  return HR_VERSION;
}

void hr_init(void) {
  gsl_set_error_handler_off();
}

static bool has_note(const struct hr_notes *notes, const char *text) {
  for (size_t i = 0; i < notes->count; i++)
    if (strcmp(notes->text[i], text) == 0) return true;
  return false;
}

enum hr_status hr_notes_add(struct hr_notes *notes, const char *format, ...) {
  char raw[1000], text[sizeof raw];
  va_list args;
  va_start(args, format);
  vsnprintf(raw, sizeof raw, format, args);
  va_end(args);
  hr__copy_safe(text, sizeof text, raw, false);
  if (has_note(notes, text)) return HR_OK;
  uint32_t capacity = (uint32_t)notes->capacity;
  if (!HR__ARRAY_HAS_ROOM(notes->text, notes->count, capacity)) return HR_NO_MEMORY;
  notes->capacity = capacity;
  char *copy = strdup(text);
  if (!copy) return HR_NO_MEMORY;
  notes->text[notes->count++] = copy;
  return HR_OK;
}

void hr_notes_finish(struct hr_notes *notes) {
  for (size_t i = 0; i < notes->count; i++) free(notes->text[i]);
  free(notes->text);
  *notes = (struct hr_notes){0};
}

enum { MAX_WORD_BYTES = 63 };

/* Converts an ASCII letter to lower case. The result does not depend on the locale. */
static char folded(char letter) {
  return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

size_t hr__edit_distance(const char *a, const char *b) {
  size_t n = strlen(a), m = strlen(b);
  if (n > MAX_WORD_BYTES || m > MAX_WORD_BYTES) return SIZE_MAX;
  size_t row[3][MAX_WORD_BYTES + 1];
  size_t *before = row[0], *previous = row[1], *current = row[2];
  for (size_t j = 0; j <= m; j++) previous[j] = j;
  for (size_t i = 1; i <= n; i++) {
    current[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t best = previous[j - 1] + (folded(a[i - 1]) != folded(b[j - 1]));
      if (previous[j] + 1 < best) best = previous[j] + 1;
      if (current[j - 1] + 1 < best) best = current[j - 1] + 1;
      bool swapped = i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]);
      if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
      current[j] = best;
    }
    size_t *recycled = before;
    before = previous;
    previous = current;
    current = recycled;
  }
  return previous[m];
}

const char *hr_nearest_word(const char *word, const char *const *words) {
  const char *nearest = NULL;
  size_t smallest = SIZE_MAX;
  for (; *words; words++) {
    size_t distance = hr__edit_distance(word, *words);
    if (distance < smallest) {
      smallest = distance;
      nearest = *words;
    }
  }
  size_t length = strlen(word);
  size_t allowed = length <= 3 ? 1 : length <= 6 ? 2 : 3;
  return smallest <= allowed ? nearest : NULL;
}
