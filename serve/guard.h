/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SERVE_GUARD_H
#define HR_SERVE_GUARD_H

/* Which requests are accepted, and which files may be read. Pure functions. */

#include "headroom/base.h"

#include <stdbool.h>
#include <stdint.h>

enum { HR__TOKEN_BYTES = 16, HR__MIN_TOKEN = 16, HR__MAX_TOKEN = 128 };

/* Whether the header Host names this server: the address that it listens on, or a name of the own machine, with its
   port. A page of a foreign site whose name was bound to this machine (DNS rebinding) has the name of that site. A
   server that listens on all addresses accepts any address that is a number. NULL: the header is missing. */
bool hr__guard_host(const char *host, const char *address, uint16_t port);

/* Whether the header Origin, which browsers send with requests of scripts, is this server. NULL: the header is missing,
   as in requests of other programs, which is allowed. `host` has been checked. */
bool hr__guard_origin(const char *origin, const char *host);

/* Whether the token of a request is right. Takes the same time for all wrong tokens of a length. */
bool hr__guard_token(const char *given, const char *token);

/* Makes a random token of hexadecimal digits, and reads a token from a file that only its owner may read. */
enum hr_status hr__token_make(char token[HR__MAX_TOKEN + 1], struct hr_error *error);
enum hr_status hr__token_read(const char *path, char token[HR__MAX_TOKEN + 1], struct hr_error *error);

/* Sets `*real` to the real path of `name`, a path in `folder`, if it is a plain file below the folder. Returns false
   otherwise: also for absolute paths, for paths and links to elsewhere, and for hidden files and folders, whose names
   begin with a dot. The caller frees `*real`. */
bool hr__guard_file(const char *folder, const char *name, char **real);

#endif
