/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recursive-descent scanner for the grammar of RFC 8259 with bounded depth. It checks the text and builds no tree.
   To find the position of a value, the scanner stops at that value. */

#include "traces/json/json_scan.h"

#include <string.h>

struct scan {
  const char *start, *at;
  unsigned depth;
  struct hr__json_flaw flaw;
};

static bool fail_at(struct scan *scan, const char *at, const char *text) {
  scan->flaw = (struct hr__json_flaw){(size_t)(at - scan->start), text};
  return false;
}

static const char no_comments[] = "comments are not allowed, except members such as \"//\": \"text\"";

/* Fails with `text`. If a comment is the reason, the error says so instead. */
static bool fail(struct scan *scan, const char *text) {
  bool is_comment = scan->at[0] == '/' && (scan->at[1] == '/' || scan->at[1] == '*');
  return fail_at(scan, scan->at, is_comment || scan->at[0] == '#' ? no_comments : text);
}

static void skip_space(struct scan *scan) {
  scan->at += strspn(scan->at, " \t\r\n");
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* ---- Strings ----------------------------------------------------------------------------------------- */

/* Returns the value of four hexadecimal digits; -1 if some character is not a hexadecimal digit. */
static int hex4(const char *at) {
  static const char digits[] = "0123456789abcdef";
  int value = 0;
  for (int i = 0; i < 4; i++) {
    char c = at[i] >= 'A' && at[i] <= 'F' ? (char)(at[i] - 'A' + 'a') : at[i];
    const char *digit = c ? strchr(digits, c) : NULL;
    if (!digit) return -1;
    value = value * 16 + (int)(digit - digits);
  }
  return value;
}

static bool scan_unicode(struct scan *scan) {
  int code = hex4(scan->at + 2);
  if (code < 0) return fail(scan, "expected four hexadecimal digits after \\u");
  if (code == 0) return fail(scan, "\\u0000 is not allowed in a string");
  bool high = code >= 0xd800 && code < 0xdc00, low = code >= 0xdc00 && code < 0xe000;
  const char *next = scan->at + 6;
  int second = high && next[0] == '\\' && next[1] == 'u' ? hex4(next + 2) : -1;
  if (low || (high && (second < 0xdc00 || second >= 0xe000)))
    return fail(scan, "unpaired surrogate: \\ud800-\\udbff and \\udc00-\\udfff must form pairs");
  scan->at += high ? 12 : 6;
  return true;
}

static bool scan_escape(struct scan *scan) {
  char kind = scan->at[1];
  if (kind == 'u') return scan_unicode(scan);
  if (!kind || !strchr("\"\\/bfnrt", kind))
    return fail(scan, "unknown escape; expected \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX");
  scan->at += 2;
  return true;
}

static bool scan_string(struct scan *scan) {
  const char *opening = scan->at++;
  while (*scan->at != '"') {
    if (*scan->at == '\\') {
      if (!scan_escape(scan)) return false;
      continue;
    }
    if (*scan->at == '\0' || *scan->at == '\n' || *scan->at == '\r')
      return fail_at(scan, opening, "this string has no closing '\"' on its line");
    if ((unsigned char)*scan->at < 0x20) return fail(scan, "control character in a string; write \\t or \\uXXXX");
    scan->at++;
  }
  scan->at++;
  return true;
}

/* ---- Numbers and words ------------------------------------------------------------------------------ */

static bool scan_digits(struct scan *scan) {
  if (!is_digit(*scan->at)) return fail(scan, "expected a digit");
  while (is_digit(*scan->at)) scan->at++;
  return true;
}

static bool scan_number(struct scan *scan) {
  enum { LONGEST = 60 };
  const char *first = scan->at;
  if (*scan->at == '-') scan->at++;
  if (scan->at[0] == '0' && is_digit(scan->at[1])) return fail(scan, "a number must not begin with a redundant 0");
  if (!scan_digits(scan)) return false;
  if (*scan->at == '.') {
    scan->at++;
    if (!scan_digits(scan)) return false;
  }
  if (*scan->at == 'e' || *scan->at == 'E') {
    scan->at++;
    if (*scan->at == '+' || *scan->at == '-') scan->at++;
    if (!scan_digits(scan)) return false;
  }
  return scan->at - first <= LONGEST || fail_at(scan, first, "number of more than 60 characters");
}

static bool scan_word(struct scan *scan) {
  static const char *const words[] = {"true", "false", "null"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t length = strlen(words[i]);
    if (strncmp(scan->at, words[i], length) != 0) continue;
    scan->at += length;
    return true;
  }
  switch (*scan->at) {
  case '\0':
    return fail(scan, "unexpected end of the text; expected a value");
  case '\'':
    return fail(scan, "strings must be in double quotes");
  case ',':
  case '}':
  case ']':
    return fail(scan, "missing value");
  default:
    return fail(scan, "not a JSON value; expected \"text\" in double quotes, a number, true, false, [...] or {...}");
  }
}

/* ---- Lists and objects ------------------------------------------------------------------------------- */

static bool scan_value(struct scan *scan);

static bool scan_key(struct scan *scan) {
  if (*scan->at == '}') return fail(scan, "trailing comma before '}'");
  if (*scan->at == '\0') return fail(scan, "unexpected end of the text inside an object; expected '}'");
  if (*scan->at != '"') return fail(scan, "expected a key in double quotes");
  if (!scan_string(scan)) return false;
  skip_space(scan);
  if (*scan->at != ':') return fail(scan, "expected ':' after the key");
  scan->at++;
  skip_space(scan);
  return true;
}

/* Called after a child of a list or object. Reads a comma or the closing bracket, and sets `*more` to true if it was
   a comma. Returns false for any other character. */
static bool scan_comma(struct scan *scan, char closing, bool *more) {
  skip_space(scan);
  *more = *scan->at == ',';
  if (!*more && *scan->at != closing) return fail(scan, closing == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
  scan->at++;
  skip_space(scan);
  return true;
}

static bool scan_members(struct scan *scan) {
  char closing = *scan->at++ == '{' ? '}' : ']';
  skip_space(scan);
  bool more = *scan->at != closing;
  if (!more) scan->at++;
  while (more) {
    if (closing == ']' && *scan->at == ']') return fail(scan, "trailing comma before ']'");
    if (closing == '}' && !scan_key(scan)) return false;
    if (!scan_value(scan) || !scan_comma(scan, closing, &more)) return false;
  }
  return true;
}

static bool scan_value(struct scan *scan) {
  if (*scan->at == '{' || *scan->at == '[') {
    if (scan->depth == HR__JSON_DEPTH) return fail(scan, "nested more than 64 levels deep");
    scan->depth++;
    bool good = scan_members(scan);
    scan->depth--;
    return good;
  }
  if (*scan->at == '"') return scan_string(scan);
  if (*scan->at == '-' || is_digit(*scan->at)) return scan_number(scan);
  return scan_word(scan);
}

bool hr__json_check(const char *text, struct hr__json_flaw *flaw) {
  struct scan scan = {.start = text, .at = text};
  skip_space(&scan);
  bool good = scan_value(&scan);
  if (good) {
    skip_space(&scan);
    good = *scan.at == '\0' || fail(&scan, "unexpected text after the JSON value");
  }
  *flaw = scan.flaw;
  return good;
}

/* ---- Positions --------------------------------------------------------------------------------------- */

/* Moves to the child with index `ordinal` of a list or an object. Sets `*key` to the beginning of the child of a
   list, or to the beginning of the key of the child of an object. Returns false if there are fewer children. */
static bool enter(struct scan *scan, uint32_t ordinal, const char **key) {
  if (*scan->at != '{' && *scan->at != '[') return false;
  char closing = *scan->at++ == '{' ? '}' : ']';
  skip_space(scan);
  bool more = *scan->at != closing;
  while (more) {
    *key = scan->at;
    if (closing == '}' && !scan_key(scan)) return false;
    if (ordinal-- == 0) return true;
    if (!scan_value(scan) || !scan_comma(scan, closing, &more)) return false;
  }
  return false;
}

size_t hr__json_find(const char *text, const uint32_t *ordinals, size_t depth, bool at_key) {
  struct scan scan = {.start = text, .at = text};
  skip_space(&scan);
  const char *key = scan.at;
  for (size_t i = 0; i < depth; i++)
    if (!enter(&scan, ordinals[i], &key)) return SIZE_MAX;
  return (size_t)((at_key ? key : scan.at) - text);
}

struct hr__json_position hr__json_position(const char *text, size_t offset) {
  struct hr__json_position position = {1, 1};
  for (size_t i = 0; i < offset; i++) {
    if (text[i] == '\n') {
      position.line++;
      position.column = 1;
    } else if (((unsigned char)text[i] & 0xc0) != 0x80) { /* continuation bytes of UTF-8 are not counted */
      position.column++;
    }
  }
  return position;
}
