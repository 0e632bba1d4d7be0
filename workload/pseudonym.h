/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_PSEUDONYM_H
#define HR_WORKLOAD_PSEUDONYM_H

/* Names by keyed hash: HMAC-SHA-256 (RFC 2104). */

#include "headroom/transform.h"

#include <nettle/hmac.h>

/* "u-" and digits, with a NUL. */
enum { HR__PSEUDONYM_BYTES = 2 + HR_MOST_PSEUDONYM_DIGITS + 1 };

struct hr__pseudonyms {
  struct hmac_sha256_ctx keyed;
  unsigned digits;
};

void hr__pseudonyms_start(struct hr__pseudonyms *pseudonyms, const void *key, size_t key_bytes, unsigned digits);
/* Of the name among those of its kind ("user", ...), whose first letter it begins with. Returns the length. */
size_t hr__pseudonym_put(struct hr__pseudonyms *pseudonyms, const char *kind, struct hr_text name,
                         char text[HR__PSEUDONYM_BYTES]);
/* Forgets the key. */
void hr__pseudonyms_stop(struct hr__pseudonyms *pseudonyms);

#endif
