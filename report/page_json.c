/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/page_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers ---------------------------------------------------------------------------------------- */

static const double power_of_10[] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                     1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

/* Digits before the point, less one, of a number of at least 1. */
static int magnitude_of(double value) {
  int magnitude = 0;
  while (magnitude < 17 && value >= power_of_10[magnitude + 1]) magnitude++;
  return magnitude;
}

static char *put_decimals(char *at, uint64_t scaled, unsigned decimals) {
  char digits[HR__NUMBER_BYTES], *end = hr__put_u64(digits, scaled);
  unsigned count = (unsigned)(end - digits);
  while (decimals && *(end - 1) == '0' && count > 1) {
    end--;
    count--;
    decimals--;
  }
  if (count <= decimals) {
    *at++ = '0';
    *at++ = '.';
    for (unsigned i = count; i < decimals; i++) *at++ = '0';
    return (char *)memcpy(at, digits, count) + count;
  }
  at = (char *)memcpy(at, digits, count - decimals) + (count - decimals);
  if (decimals == 0) return at;
  *at++ = '.';
  return (char *)memcpy(at, end - decimals, decimals) + decimals;
}

char *hr__put_significant(char *at, double value) {
  enum { DIGITS = 6, MOST_DECIMALS = 12 };
  double size = fmin(fabs(value), 9e18);
  char *begin = at;
  if (value < 0) *at++ = '-';
  if (size >= 1) {
    int magnitude = magnitude_of(size);
    if (magnitude >= DIGITS) {
      double unit = power_of_10[magnitude + 1 - DIGITS];
      return hr__put_u64(at, (uint64_t)llround(size / unit) * (uint64_t)unit);
    }
    unsigned decimals = (unsigned)(DIGITS - 1 - magnitude);
    return put_decimals(at, (uint64_t)llround(size * power_of_10[decimals]), decimals);
  }
  unsigned decimals = DIGITS;
  while (decimals < MOST_DECIMALS && size * power_of_10[decimals] < power_of_10[DIGITS - 1]) decimals++;
  uint64_t scaled = (uint64_t)llround(size * power_of_10[decimals]);
  if (scaled) return put_decimals(at, scaled, decimals);
  *begin = '0';
  return begin + 1;
}

/* ---- Texts ------------------------------------------------------------------------------------------ */

static void put_escaped(struct hr__out *out, unsigned char byte) {
  static const char hex[] = "0123456789abcdef";
  const char text[] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
  hr__out_bytes(out, text, sizeof text);
}

static void put_string(struct hr__page_json *json, const char *text) {
  char *utf8 = hr__utf8_copy(text);
  if (!utf8) {
    json->failed = true;
    return;
  }
  hr__out_byte(json->out, '"');
  for (const char *at = utf8; *at; at++) {
    if (*at == '"' || *at == '\\') hr__out_byte(json->out, '\\');
    if ((unsigned char)*at < 0x20 || *at == '<')
      put_escaped(json->out, (unsigned char)*at);
    else
      hr__out_byte(json->out, *at);
  }
  hr__out_byte(json->out, '"');
  free(utf8);
}

/* ---- Values ----------------------------------------------------------------------------------------- */

static void begin_value(struct hr__page_json *json, const char *key) {
  if (json->more) hr__out_byte(json->out, ',');
  json->more = true;
  if (!key) return;
  put_string(json, key);
  hr__out_byte(json->out, ':');
}

void hr__page_open(struct hr__page_json *json, const char *key, char bracket) {
  begin_value(json, key);
  hr__out_byte(json->out, bracket);
  json->more = false;
}

void hr__page_close(struct hr__page_json *json, char bracket) {
  hr__out_byte(json->out, bracket);
  json->more = true;
}

void hr__page_text(struct hr__page_json *json, const char *key, const char *text) {
  begin_value(json, key);
  if (text)
    put_string(json, text);
  else
    hr__out_text(json->out, "null");
}

void hr__page_count(struct hr__page_json *json, const char *key, uint64_t count) {
  begin_value(json, key);
  hr__out_u64(json->out, count);
}

void hr__page_bool(struct hr__page_json *json, const char *key, bool value) {
  begin_value(json, key);
  hr__out_text(json->out, value ? "true" : "false");
}

void hr__page_null(struct hr__page_json *json, const char *key) {
  begin_value(json, key);
  hr__out_text(json->out, "null");
}

void hr__page_number(struct hr__page_json *json, const char *key, double value) {
  if (!isfinite(value)) {
    hr__page_null(json, key);
    return;
  }
  begin_value(json, key);
  hr__out_to(json->out, hr__put_significant(hr__out_room(json->out, HR__NUMBER_BYTES), value));
}

void hr__page_seconds(struct hr__page_json *json, const char *key, int64_t us) {
  begin_value(json, key);
  hr__out_millionths(json->out, us);
}

void hr__page_usd(struct hr__page_json *json, const char *key, int64_t uusd) {
  begin_value(json, key);
  hr__out_millionths(json->out, uusd);
}

/* In JSON a `<` stands in strings alone, where it may as well be escaped. */
void hr__page_json_text(struct hr__page_json *json, const char *key, const char *text) {
  if (!text) {
    hr__page_null(json, key);
    return;
  }
  begin_value(json, key);
  for (;;) {
    size_t plain = strcspn(text, "<");
    hr__out_bytes(json->out, text, plain);
    if (!text[plain]) return;
    put_escaped(json->out, '<');
    text += plain + 1;
  }
}

void hr__page_notes(struct hr__page_json *json, const struct hr_notes *notes) {
  for (size_t i = 0; i < notes->count; i++) hr__page_text(json, NULL, notes->text[i]);
}
