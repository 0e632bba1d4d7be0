/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hash of the key is made once; each name goes on from there. */

#include "workload/pseudonym.h"

#include <string.h>

void hr__pseudonyms_start(struct hr__pseudonyms *pseudonyms, const void *key, size_t key_bytes, unsigned digits) {
  hmac_sha256_set_key(&pseudonyms->keyed, key_bytes, key);
  pseudonyms->digits = digits;
}

size_t hr__pseudonym_put(struct hr__pseudonyms *pseudonyms, const char *kind, struct hr_text name,
                         char text[HR__PSEUDONYM_BYTES]) {
  static const char hexadecimal[] = "0123456789abcdef";
  uint8_t digest[SHA256_DIGEST_SIZE];
  hmac_sha256_update(&pseudonyms->keyed, strlen(kind) + 1, (const uint8_t *)kind);
  hmac_sha256_update(&pseudonyms->keyed, name.length, (const uint8_t *)name.at);
  hmac_sha256_digest(&pseudonyms->keyed, sizeof digest, digest); /* and back to the key alone */
  char *at = text;
  *at++ = kind[0];
  *at++ = '-';
  for (unsigned i = 0; i < pseudonyms->digits; i++)
    *at++ = hexadecimal[i % 2 ? digest[i / 2] & 15 : digest[i / 2] >> 4];
  *at = '\0';
  return (size_t)(at - text);
}

void hr__pseudonyms_stop(struct hr__pseudonyms *pseudonyms) {
  volatile unsigned char *at = (volatile unsigned char *)&pseudonyms->keyed; /* no store of these may be left out */
  for (size_t i = 0; i < sizeof pseudonyms->keyed; i++) at[i] = 0;
}
