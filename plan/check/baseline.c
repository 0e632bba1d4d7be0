/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A baseline as JSON that a person can read in a difference of two versions: the figures of one kind on a line, a
 * class, tenant or pool on a line, coded columns broken into lines. scenarios/baseline.c reads it.
 */

#include "base/output_file.h"
#include "base/text.h"
#include "plan/check/checking.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CODED_LINE = 100 };

/* ---- Values ----------------------------------------------------------------------------------------- */

static bool put_text(FILE *out, const char *text) {
  char *utf8 = hr__utf8_copy(text);
  if (!utf8) return false;
  fputc('"', out);
  for (const unsigned char *at = (const unsigned char *)utf8; *at; at++) {
    if (*at == '"' || *at == '\\')
      fprintf(out, "\\%c", *at);
    else if (*at < 0x20)
      fprintf(out, "\\u%04x", *at);
    else
      fputc(*at, out);
  }
  fputc('"', out);
  free(utf8);
  return true;
}

static void put_value(FILE *out, const struct hr_baseline_figure *figure) {
  char buffer[HR__NUMBER_BYTES];
  fprintf(out, "\"%s\": %s", figure->path, hr__decimal_text(figure->value, buffer));
}

static bool put_member(FILE *out, const char *key, const char *text) {
  fprintf(out, "      \"%s\": ", key);
  bool whole = put_text(out, text);
  fputs(",\n", out);
  return whole;
}

/* ---- Figures ---------------------------------------------------------------------------------------- */

static bool same_kind(const char *a, const char *b) {
  size_t length = strcspn(a, ".");
  return strcspn(b, ".") == length && strncmp(a, b, length) == 0;
}

/* The run's own come first. Returns how many they are. */
static size_t put_metrics(FILE *out, const struct hr_baseline_run *run) {
  size_t i = 0;
  fputs("      \"metrics\": {", out);
  for (; i < run->n_figures && run->figures[i].of == HR_FIGURE_OF_RUN; i++) {
    bool goes_on = i > 0 && same_kind(run->figures[i - 1].path, run->figures[i].path);
    fputs(i == 0 ? "\n        " : goes_on ? ", " : ",\n        ", out);
    put_value(out, &run->figures[i]);
  }
  fputs("\n      }", out);
  return i;
}

static bool same_group(const struct hr_baseline_figure *a, const struct hr_baseline_figure *b) {
  return a->of == b->of && strcmp(a->group, b->group) == 0;
}

/* The figures of one part from `i` on; returns where the next part begins. */
static size_t put_part(FILE *out, const struct hr_baseline_run *run, size_t i, bool *whole) {
#define WORD(name, text) text,
  static const char *const parts[] = {HR_FIGURE_OF_TABLE(WORD)};
#undef WORD
  enum hr_figure_of of = run->figures[i].of;
  fprintf(out, ",\n      \"%s\": {", parts[of]);
  for (size_t first = i; i < run->n_figures && run->figures[i].of == of; i++) {
    bool goes_on = i > first && same_group(&run->figures[i - 1], &run->figures[i]);
    if (goes_on) {
      fputs(", ", out);
    } else {
      fputs(i == first ? "\n        " : " },\n        ", out);
      *whole = put_text(out, run->figures[i].group) && *whole;
      fputs(": { ", out);
    }
    put_value(out, &run->figures[i]);
  }
  fputs(" }\n      }", out);
  return i;
}

static bool put_figures(FILE *out, const struct hr_baseline_run *run) {
  bool whole = true;
  size_t i = put_metrics(out, run);
  while (i < run->n_figures) i = put_part(out, run, i, &whole);
  return whole;
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

static void put_coded(FILE *out, const char *key, const char *text) {
  fprintf(out, ",\n      \"%s\": [", key);
  for (size_t at = 0, length = strlen(text); at < length; at += CODED_LINE)
    fprintf(out, "%s\n        \"%.*s\"", at ? "," : "", CODED_LINE, text + at);
  fputs(text[0] ? "\n      ]" : "]", out);
}

static bool put_inputs(FILE *out, const struct hr_baseline_run *run) {
  bool whole = true;
  fputs("      \"inputs\": {", out);
  for (size_t i = 0; i < run->n_inputs; i++) {
    fputs(i ? ", " : " ", out);
    whole = put_text(out, run->inputs[i].name) && whole;
    fprintf(out, ": \"%016" PRIx64 "\"", run->inputs[i].digest);
  }
  fputs(" },\n", out);
  return whole;
}

/* Beyond 2^53 as text, which readers that know only doubles leave whole. */
static void put_seed(FILE *out, uint64_t seed) {
  const char *quote = seed > UINT64_C(1) << 53 ? "\"" : "";
  fprintf(out, "      \"seed\": %s%" PRIu64 "%s,\n", quote, seed, quote);
}

static bool put_samples(FILE *out, const struct hr_baseline_run *run) {
  bool whole = true, first = true;
  fputs(",\n      \"samples\": {", out);
  for (size_t i = 0; i < run->n_figures; i++) {
    const struct hr_baseline_figure *figure = &run->figures[i];
    char label[HR__LABEL_BYTES], number[HR__NUMBER_BYTES];
    if (!figure->samples) continue;
    fputs(first ? "\n        " : ",\n        ", out);
    whole = put_text(out, hr__baseline_label(figure, label)) && whole;
    for (uint32_t r = 0; r < figure->n_samples; r++)
      fprintf(out, "%s%s", r ? ", " : ": [", hr__decimal_text(figure->samples[r], number));
    fputc(']', out);
    first = false;
  }
  fputs("\n      }", out);
  return whole;
}

static bool put_run(FILE *out, const struct hr_baseline_run *run) {
  fputs("    {\n", out);
  bool whole = put_member(out, "name", run->name);
  whole = put_member(out, "policy", run->policy) && whole;
  put_seed(out, run->seed);
  whole = put_member(out, "trace", run->trace) && whole;
  fprintf(out, "      \"trace_digest\": \"%016" PRIx64 "\",\n", run->trace_digest);
  whole = put_inputs(out, run) && whole;
  if (run->replications) fprintf(out, "      \"replications\": %" PRIu32 ",\n", run->replications);
  fprintf(out, "      \"digest\": \"%016" PRIx64 "\",\n", run->digest);
  whole = put_figures(out, run) && whole;
  if (!run->replications) {
    fprintf(out, ",\n      \"jobs\": %" PRIu32 ", \"decisions\": %" PRIu64 ", \"spacing\": %" PRIu64, run->n_jobs,
            run->decisions, run->spacing);
    put_coded(out, "chain", run->chain);
    if (run->starts) put_coded(out, "starts", run->starts);
  } else {
    whole = put_samples(out, run) && whole;
  }
  fputs("\n    }", out);
  return whole;
}

enum hr_status hr_check_write_baseline(const char *path, const struct hr_check *check, struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  bool whole = true, first = true;
  fprintf(file.stream, "{\n  \"format\": %d,\n  \"version\": \"%s\",\n  \"runs\": [", HR_BASELINE_FORMAT, hr_version());
  for (size_t i = 0; i < check->n_cases && whole; i++) {
    if (!check->cases[i].run) continue;
    fputs(first ? "\n" : ",\n", file.stream);
    whole = put_run(file.stream, &check->cases[i].now);
    first = false;
  }
  fputs("\n  ]\n}\n", file.stream);
  bool readable = ftell(file.stream) <= HR_MOST_BASELINE_BYTES; /* -1 of a pipe */
  if (whole && readable) return hr__output_commit(&file, error);
  hr__output_abandon(&file);
  if (!whole) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: the baseline of %zu runs would be larger than 16 MiB; two suites with fewer runs each are wanted",
                 path, check->n_cases);
}
