/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace`: what can be done with traces alone. An action is a file `cli/trace_ACTION.c`, and a line here. */

#include "cli/cli.h"

static const struct verb *const actions[] = {&verb_trace_generate,
                                             &verb_trace_check,
                                             &verb_trace_stats,
                                             &verb_trace_convert,
                                             &verb_trace_pack,
                                             &verb_trace_cut,
                                             &verb_trace_scale,
                                             &verb_trace_merge,
                                             &verb_trace_anonymise,
                                             &verb_trace_shuffle,
                                             NULL};

const struct verb verb_trace = {
    .name = "trace", .summary = "make traces, look into them, change them", .actions = actions};
