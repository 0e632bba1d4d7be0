/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/trace_key.h"

#include <stdio.h>
#include <stdlib.h>

char *hr__trace_key(const struct hr_scenario *scenario, const char *file) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  fprintf(out, "%s\n%s\n%d", file, scenario->trace_format, scenario->lenient);
  for (size_t i = 0; i < scenario->columns.count; i++)
    fprintf(out, "\n%s=%s", scenario->columns.entry[i].field, scenario->columns.entry[i].column);
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

enum hr_status hr__trace_read(const struct hr_scenario *scenario, const char *file, struct hr_trace **trace,
                              struct hr_error *error) {
  struct hr_trace_options options = {
      .format = scenario->trace_format, .map = &scenario->columns, .lenient = scenario->lenient};
  return hr_trace_read(file, &options, trace, error);
}
