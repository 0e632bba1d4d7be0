/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/json_out.h"

#include <stdlib.h>
#include <string.h>

static void put_escaped(struct hr__out *out, unsigned char byte) {
  static const char digits[] = "0123456789abcdef";
  char *at = hr__out_room(out, 6);
  *at++ = '\\';
  if (byte == '"' || byte == '\\') {
    *at++ = (char)byte;
  } else {
    memcpy(at, "u00", 3);
    at[3] = digits[byte >> 4];
    at[4] = digits[byte & 15];
    at += 5;
  }
  hr__out_to(out, at);
}

static void put_utf8(struct hr__out *out, const char *text) {
  const char *plain = text;
  for (; *text; text++) {
    unsigned char byte = (unsigned char)*text;
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    hr__out_bytes(out, plain, (size_t)(text - plain));
    put_escaped(out, byte);
    plain = text + 1;
  }
  hr__out_bytes(out, plain, (size_t)(text - plain));
}

static bool is_ascii(const char *text) {
  while (*text && (unsigned char)*text < 0x80) text++;
  return !*text;
}

void hr__out_json_text(struct hr__out *out, const char *text) {
  char *copy = is_ascii(text) ? NULL : hr__utf8_copy(text);
  hr__out_byte(out, '"');
  if (copy || is_ascii(text))
    put_utf8(out, copy ? copy : text);
  else
    out->out_of_memory = true;
  hr__out_byte(out, '"');
  free(copy);
}
