/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A check of a trace for a person, 80 columns wide: the severest findings first, each with where it begins, what it
   means and what to do; notes in short. */

#include "report/console.h"
#include "report/text.h"
#include "sim/output_file.h"
#include "workload/checking.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct page {
  struct hr__console console;
  const struct hr_trace_check *check;
};

static void put_head(struct page *page) {
  struct hr__console *console = &page->console;
  const struct hr_trace_check *check = page->check;
  const struct hr_trace *trace = check->config.trace;
  const struct hr_scenario *scenario = check->config.scenario;
  char jobs[HR__NUMBER_BYTES], span[HR__NUMBER_BYTES], counts[HR_N_SEVERITIES][HR__NUMBER_BYTES];
  char *name = hr__fitted(console, trace->source, HR__LINE_WIDTH - 30, true);
  if (!name) return;
  fprintf(console->out, "%sHeadroom %s: check of %s%s\n\n", hr__bold(console), hr_version(), name, hr__plain(console));
  free(name);
  hr__put_field(console, "trace", "%s job%s (%s), submitted over %s", hr__count_text(trace->n_jobs, jobs),
                hr__plural(trace->n_jobs), trace->format,
                hr__duration_text(hr__seconds(trace->submit_us[trace->n_jobs - 1]), span));
  if (scenario)
    hr__put_field(console, "cluster", "%s: %s GPU%s", scenario->name,
                  hr__count_text(hr_cluster_spec_gpus(&scenario->cluster), jobs),
                  hr__plural(hr_cluster_spec_gpus(&scenario->cluster)));
  size_t n[HR_N_SEVERITIES];
  for (unsigned i = 0; i < HR_N_SEVERITIES; i++) {
    n[i] = hr_trace_check_count(check, (enum hr_severity)i);
    hr__count_text(n[i], counts[i]);
  }
  hr__put_field(console, "found", "%s error%s, %s warning%s, %s note%s", counts[HR_SEVERITY_ERROR],
                hr__plural(n[HR_SEVERITY_ERROR]), counts[HR_SEVERITY_WARNING], hr__plural(n[HR_SEVERITY_WARNING]),
                counts[HR_SEVERITY_NOTE], hr__plural(n[HR_SEVERITY_NOTE]));
}

static void put_loads(struct page *page) {
  enum { TYPES_WIDTH = 26 };
  struct hr__console *console = &page->console;
  if (page->check->n_loads == 0) return;
  fprintf(console->out, "\n  %s%-*s %12s %15s %9s %9s%s\n", hr__bold(console), TYPES_WIDTH, "asked for while jobs come",
          "GPUs", "GPU hours", "load", "days over", hr__plain(console));
  for (size_t i = 0; i < page->check->n_loads; i++) {
    const struct hr_offered_load *load = &page->check->loads[i];
    char gpus[HR__NUMBER_BYTES], hours[HR__NUMBER_BYTES], days[HR__NUMBER_BYTES];
    char percent[HR__NUMBER_BYTES];
    char *types = hr__fitted(console, load->gpu_types, TYPES_WIDTH, false);
    if (!types) return;
    snprintf(days, sizeof days, "%" PRIu32 "/%" PRIu32, load->over, load->days);
    int pad = TYPES_WIDTH - (int)hr__width_of(types, strlen(types));
    fprintf(console->out, "  %s%*s %12s %15s %7s %% %9s\n", types, pad, "", hr__count_text(load->gpus, gpus),
            hr__fixed_text(load->gpu_hours, 0, hours), hr__fixed_text(100 * load->load, 1, percent), days);
    free(types);
  }
}

/* Where the first one is, if it is known. */
static void put_place(struct page *page, const struct hr_finding *finding) {
  const struct hr_trace *trace = page->check->config.trace;
  char buffer[HR_JOB_ID_BUFFER], when[HR__NUMBER_BYTES];
  if (finding->job.id == HR_NONE) return;
  const char *id = hr_trace_job_id(trace, finding->job, buffer);
  int64_t submit_us = trace->submit_us[finding->job.id];
  if (submit_us == 0)
    hr__put_field(&page->console, "first", "job %s, submitted at the beginning", id);
  else
    hr__put_field(&page->console, "first", "job %s, submitted %s after the first", id,
                  hr__duration_text(hr__seconds(submit_us), when));
}

static void put_finding(struct page *page, const struct hr_finding *finding) {
  struct hr__console *console = &page->console;
  const char *meaning = hr_finding_meaning(finding->code), *advice = hr_finding_advice(finding->code);
  fprintf(console->out, "\n%s%s: %s%s\n", hr__bold(console), hr_severity_name(finding->severity),
          hr_finding_name(finding->code), hr__plain(console));
  hr__put_field(console, "found", "%s", finding->text);
  put_place(page, finding);
  if (meaning) hr__put_field(console, "means", "%s", meaning);
  if (advice) hr__put_field(console, "do", "%s", advice);
}

/* A note in a sentence or two. */
static void put_note(struct page *page, const struct hr_finding *finding) {
  const char *meaning = hr_finding_meaning(finding->code);
  hr__put_field(&page->console, "", "%s: %s%s%s", hr_finding_name(finding->code), finding->text, meaning ? "; " : "",
                meaning ? meaning : "");
}

enum hr_status hr_trace_check_write(const char *path, const struct hr_trace_check *check, bool colour,
                                    struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  struct page page = {.console = {.out = file.stream, .colour = colour}, .check = check};
  put_head(&page);
  put_loads(&page);
  size_t i = 0;
  for (; i < check->n_findings && check->findings[i].severity != HR_SEVERITY_NOTE; i++)
    put_finding(&page, &check->findings[i]);
  if (i < check->n_findings) fprintf(file.stream, "\n%snotes%s\n", hr__bold(&page.console), hr__plain(&page.console));
  for (; i < check->n_findings; i++) put_note(&page, &check->findings[i]);
  if (!page.console.out_of_memory) return hr__output_commit(&file, error);
  hr__output_abandon(&file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}
