/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SERVE_PHRASES_H
#define HR_SERVE_PHRASES_H

#include "base/confinement.h"

/* What messages of a worker say for the options of the command line. */
extern const struct hr__phrase hr__serve_phrases[];
extern const size_t hr__n_serve_phrases;

#endif
