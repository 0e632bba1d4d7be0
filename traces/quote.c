/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/quote.h"

#include <stdio.h>
#include <string.h>

enum { MOST_QUOTED = 60 };

const char *hr__quote(struct hr_text text, char buffer[HR__QUOTE_BYTES]) {
  char *to = buffer;
  for (size_t i = 0; i < text.length && i < MOST_QUOTED; i++) {
    unsigned char c = (unsigned char)text.at[i];
    if (c >= ' ' && c < 0x7F)
      *to++ = (char)c;
    else
      to += sprintf(to, "\\x%02X", c);
  }
  strcpy(to, text.length > MOST_QUOTED ? "..." : "");
  return buffer;
}
