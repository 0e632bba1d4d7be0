/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SERVE_PATHS_H
#define HR_SERVE_PATHS_H

/* What a server knows before it listens: its folder, its temporary folder, the shipped files, its token and limits. */

#include "serve/exchange.h"

/* Checks the settings, and sets those that are 0 or NULL to their defaults. Creates the temporary folder. The caller
   calls hr__serve_paths_finish, also after an error. `settings` must outlive the server. */
enum hr_status hr__serve_prepare(struct hr__server *server, struct hr_serve_config *settings, struct hr_error *error);
/* Removes the temporary folder, and frees the paths. */
void hr__serve_paths_finish(struct hr__server *server);

#endif
