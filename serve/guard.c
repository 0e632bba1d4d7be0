/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks of requests: Host and Origin against DNS rebinding and foreign sites (Fetch standard, "Origin header"; RFC
 * 9110, 7.2), the token against other users of the machine, and paths against files outside of the folder.
 */

#include "serve/guard.h"

#include "base/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>

/* ---- Host and Origin ----------------------------------------------------------------------------------- */

/* Splits "name:port" or "[address]:port". Without a port, it is that of HTTP. */
static bool split_host(const char *host, char *name, size_t size, unsigned long *port) {
  const char *colon = strrchr(host, ':'), *bracket = strrchr(host, ']');
  if (colon && bracket && colon < bracket) colon = NULL;
  size_t length = colon ? (size_t)(colon - host) : strlen(host);
  *port = 80;
  if (length == 0 || length >= size) return false;
  memcpy(name, host, length);
  name[length] = '\0';
  if (!colon) return true;
  size_t digits = strspn(colon + 1, "0123456789");
  if (digits == 0 || digits > 5 || colon[1 + digits] != '\0') return false;
  *port = strtoul(colon + 1, NULL, 10);
  return true;
}

static bool is_number_address(const char *name) {
  return strspn(name, "0123456789.") == strlen(name) || name[0] == '[';
}

bool hr__guard_host(const char *host, const char *address, uint16_t port) {
  char name[256];
  unsigned long named;
  if (!host || !split_host(host, name, sizeof name, &named) || named != port) return false;
  bool everywhere = strcmp(address, "0.0.0.0") == 0;
  if (strcasecmp(name, "localhost") == 0) return true;
  if (strcmp(name, "127.0.0.1") == 0 || strcmp(name, address) == 0) return true;
  return everywhere && is_number_address(name);
}

bool hr__guard_origin(const char *origin, const char *host) {
  static const char scheme[] = "http://";
  if (!origin) return true;
  return strncmp(origin, scheme, sizeof scheme - 1) == 0 && strcasecmp(origin + sizeof scheme - 1, host) == 0;
}

/* ---- Tokens -------------------------------------------------------------------------------------------- */

bool hr__guard_token(const char *given, const char *token) {
  if (!given || strlen(given) != strlen(token)) return false;
  unsigned different = 0;
  for (size_t i = 0; token[i]; i++) different |= (unsigned)((unsigned char)given[i] ^ (unsigned char)token[i]);
  return different == 0;
}

enum hr_status hr__token_make(char token[HR__MAX_TOKEN + 1], struct hr_error *error) {
  unsigned char bytes[HR__TOKEN_BYTES];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
    return hr_fail(error, HR_IO_ERROR, "no random numbers for the token: %s", strerror(errno));
  for (size_t i = 0; i < sizeof bytes; i++) snprintf(token + 2 * i, 3, "%02x", bytes[i]);
  return HR_OK;
}

enum hr_status hr__token_read(const char *path, char token[HR__MAX_TOKEN + 1], struct hr_error *error) {
  struct stat info;
  FILE *file = fopen(path, "r");
  char *got = file ? fgets(token, HR__MAX_TOKEN + 1, file) : NULL;
  bool is_private = file && fstat(fileno(file), &info) == 0 && (info.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  int number = errno;
  if (file) fclose(file);
  if (!file) return hr_fail(error, HR_BAD_INPUT, "--token-file %s: cannot be read: %s", path, strerror(number));
  if (!is_private)
    return hr_fail(error, HR_BAD_INPUT, "--token-file %s: others may read it; 'chmod 600' makes it private", path);
  size_t length = got ? strcspn(token, "\r\n") : 0;
  token[length] = '\0';
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  if (length >= HR__MIN_TOKEN && strspn(token, allowed) == length) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--token-file %s: expected a line of %d to %d letters, digits, '-' and '_'", path,
                 HR__MIN_TOKEN, HR__MAX_TOKEN);
}

/* ---- Files --------------------------------------------------------------------------------------------- */

bool hr__guard_file(const char *folder, const char *name, char **real) {
  struct stat info;
  *real = NULL;
  if (!name[0] || name[0] == '/') return false;
  char *path = malloc(strlen(folder) + strlen(name) + 2);
  if (!path) return false;
  stpcpy(stpcpy(stpcpy(path, folder), "/"), name);
  *real = realpath(path, NULL);
  free(path);
  bool is_shown = *real && hr__is_below(*real, folder) && !strstr(*real + (folder[1] ? strlen(folder) : 0), "/.");
  if (is_shown && stat(*real, &info) == 0 && S_ISREG(info.st_mode)) return true;
  free(*real);
  *real = NULL;
  return false;
}
