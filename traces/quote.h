/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_QUOTE_H
#define HR_TRACES_QUOTE_H

#include "headroom/trace.h"

/* Text from a file as a message may show it: on one line, at most 60 bytes, all else than printable ASCII escaped. */
#define HR__QUOTE_BYTES 256
const char *hr__quote(struct hr_text text, char buffer[HR__QUOTE_BYTES]);

#endif
