/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of waiting time, 80 columns wide: by reason, by tenant and by request size, and the jobs that waited
   longest. */

#include "report/why/why.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH = 15, MAX_TENANTS = 12 };

static double hours_of(hr_amount us) {
  return (double)us / (3600.0 * (double)HR_SECOND_US);
}

static const char *gpu_hours_text(hr_amount milli_us, char *buffer) {
  double hours = hours_of(milli_us) / 1000;
  return hr__fixed_text(hours, hours < 1000 ? 1 : 0, buffer);
}

static const char *time_text(hr_amount us, char *buffer) {
  return hr__duration_text((double)us / (double)HR_SECOND_US, buffer);
}

static const char *percent_text(hr_amount part, hr_amount all, char *buffer) {
  hr__fixed_text(all > 0 ? 100 * (double)part / (double)all : 0, 1, buffer);
  return strcat(buffer, " %");
}

/* Writes the longest reasons, "capacity 61 %, order 30 %", as many as fit into `room` columns but at least one. */
static void put_main_reasons(FILE *out, const struct hr__why_row *row, size_t room) {
  enum hr_wait_reason_kind order[HR_N_WAIT_REASONS];
  uint32_t count = hr__why_order(row, order);
  for (uint32_t i = 0; i < count; i++) {
    double share = 100 * (double)row->us[order[i]] / (double)row->all_us;
    char number[HR__NUMBER_BYTES], text[2 * HR__NUMBER_BYTES];
    int width = snprintf(text, sizeof text, "%s%s %s %%", i ? ", " : "", hr_wait_reason_name(order[i]),
                         share < 0.5 ? "<1" : hr__fixed_text(share, 0, number));
    if (i > 0 && (size_t)width > room) return;
    fprintf(out, "%s", text);
    room -= (size_t)width;
  }
}

/* ---- By reason ----------------------------------------------------------------------------------- */

static void put_reasons(struct hr__console *console, const struct hr__why_sums *sums) {
  enum hr_wait_reason_kind order[HR_N_WAIT_REASONS];
  uint32_t count = hr__why_order(&sums->all, order);
  fprintf(console->out, "\n%s%-*s%10s%14s%10s%14s%10s%s\n", hr__bold(console), NAME_WIDTH + 1, "reason", "jobs",
          "waited", "share", "GPU hours", "share", hr__plain(console));
  for (uint32_t i = 0; i < count; i++) {
    char text[5][HR__NUMBER_BYTES];
    enum hr_wait_reason_kind reason = order[i];
    fprintf(console->out, "%-*s%10s%14s%10s%14s%10s\n", NAME_WIDTH + 1, hr_wait_reason_name(reason),
            hr__count_text(sums->jobs_of[reason], text[0]), time_text(sums->all.us[reason], text[1]),
            percent_text(sums->all.us[reason], sums->all.all_us, text[2]),
            gpu_hours_text(sums->all.milli_us[reason], text[3]),
            percent_text(sums->all.milli_us[reason], sums->all.all_milli_us, text[4]));
  }
  for (uint32_t i = 0; i < count; i++)
    fprintf(console->out, "%s%s: %s%s\n", hr__dim(console), hr_wait_reason_name(order[i]),
            hr_wait_reason_words(order[i]), hr__plain(console));
}

/* ---- By tenant and size -------------------------------------------------------------------------- */

static void put_row(struct hr__console *console, const struct hr__why_row *row) {
  char text[3][HR__NUMBER_BYTES];
  char *name = hr__fitted(console, row->name[0] ? row->name : "(none)", NAME_WIDTH, false);
  if (!name) return;
  fprintf(console->out, "%s%*s%8s%13s%11s  ", name, (int)(NAME_WIDTH + 1 - hr__width_of(name, strlen(name))), "",
          hr__count_text(row->jobs, text[0]), time_text(row->all_us, text[1]),
          gpu_hours_text(row->all_milli_us, text[2]));
  put_main_reasons(console->out, row, HR__LINE_WIDTH - NAME_WIDTH - 1 - 34);
  fputc('\n', console->out);
  free(name);
}

static void put_rows(struct hr__console *console, const char *title, const struct hr__why_row *rows, size_t count,
                     size_t max_rows) {
  char more[HR__NUMBER_BYTES];
  fprintf(console->out, "\n%s%-*s%8s%13s%11s  %s%s\n", hr__bold(console), NAME_WIDTH + 1, title, "jobs", "waited",
          "GPU hours", "main reasons", hr__plain(console));
  for (size_t i = 0; i < count && i < max_rows; i++) put_row(console, &rows[i]);
  if (count > max_rows)
    fprintf(console->out, "%sand %s more%s\n", hr__dim(console), hr__count_text(count - max_rows, more),
            hr__plain(console));
}

static void put_rejected(struct hr__console *console, const struct hr__why_sums *sums) {
  char text[HR__NUMBER_BYTES];
  if (sums->rejected > 0)
    hr__put_field(console, "rejected", "%s job%s rejected, as %s can never run", hr__count_text(sums->rejected, text),
                  sums->rejected == 1 ? " was" : "s were", sums->rejected == 1 ? "it" : "they");
}

static void put_head(struct hr__console *console, const struct hr__why_sums *sums) {
  char text[3][HR__NUMBER_BYTES];
  hr__put_field(console, "waited", "%s job%s, %s in total: %s requested GPU hours",
                hr__count_text(sums->all.jobs, text[0]), sums->all.jobs == 1 ? "" : "s",
                time_text(sums->all.all_us, text[1]), gpu_hours_text(sums->all.all_milli_us, text[2]));
  if (sums->later_us > 0)
    hr__put_field(console, "requeued", "%s of it after a first start (%s)", time_text(sums->later_us, text[0]),
                  percent_text(sums->later_us, sums->all.all_us, text[1]));
  if (sums->open > 0)
    hr__put_field(console, "unfinished", "%s job%s still waiting when the run ended",
                  hr__count_text(sums->open, text[0]), sums->open == 1 ? "" : "s");
  put_rejected(console, sums);
}

static void print_no_waits(struct hr__console *console, const struct hr__why_sums *sums) {
  hr__put_field(console, "waited", "no job: each job %sstarted when it was submitted",
                sums->rejected ? "that can run " : "");
  put_rejected(console, sums);
}

/* Prints all tables except that of the longest waits. */
static void print_sums(struct hr__console *console, const struct hr__why_sums *sums, bool of_tenant) {
  put_head(console, sums);
  put_reasons(console, sums);
  if (!of_tenant && (sums->n_tenants > 1 || sums->tenants[0].name[0]))
    put_rows(console, "tenant", sums->tenants, sums->n_tenants, MAX_TENANTS);
  put_rows(console, "GPUs requested", sums->sizes, sums->n_sizes, sums->n_sizes);
}

/* ---- Longest waits ------------------------------------------------------------------------------- */

static void put_slow_job(struct hr__console *console, const struct hr_why *why, const struct hr__why_job *slow) {
  char text[2][HR__NUMBER_BYTES], id[HR_JOB_ID_BUFFER];
  struct hr__why_row row;
  char *name = hr__fitted(console, hr_trace_job_id(why->trace, slow->job, id), NAME_WIDTH, true);
  if (!name) return;
  hr__why_job_row(why, slow->job, &row);
  fprintf(console->out, "%s%*s%6s%13s  ", name, (int)(NAME_WIDTH + 1 - hr__width_of(name, strlen(name))), "",
          hr__why_gpus(hr__why_request_milli(why, slow->job), text[0]), time_text(row.all_us, text[1]));
  put_main_reasons(console->out, &row, HR__LINE_WIDTH - NAME_WIDTH - 1 - 21);
  fputc('\n', console->out);
  free(name);
}

static void print_slowest(struct hr__console *console, const struct hr_why *why, const struct hr__why_sums *sums,
                          uint32_t max_rows) {
  if (sums->n_jobs == 0 || max_rows == 0) return;
  fprintf(console->out, "\n%s%-*s%6s%13s  %s%s\n", hr__bold(console), NAME_WIDTH + 1, "longest waits", "GPUs", "waited",
          "main reasons", hr__plain(console));
  for (size_t i = 0; i < sums->n_jobs && i < max_rows; i++) put_slow_job(console, why, &sums->jobs[i]);
}

/* Prints the subject: "where the waiting time of all jobs went". */
static void put_subject(struct hr__console *console, const struct hr_why *why, const struct hr_why_question *question,
                        const struct hr__why_sums *sums) {
  char number[HR__NUMBER_BYTES];
  size_t slowest = sums->n_jobs < question->slowest ? sums->n_jobs : question->slowest;
  if (question->only_slowest && slowest == 1) {
    fprintf(console->out, "the job that waited longest");
  } else if (question->only_slowest) {
    fprintf(console->out, "the %s%sjobs that waited longest", slowest ? hr__count_text(slowest, number) : "",
            slowest ? " " : "");
  } else if (question->of_tenant && question->tenant != HR_NONE) {
    char *tenant = hr__fitted(console, why->trace->tenants.text[question->tenant], HR__LINE_WIDTH - 40, false);
    if (tenant) fprintf(console->out, "where the waiting time of tenant %s went", tenant);
    free(tenant);
  } else {
    fprintf(console->out, "where the waiting time of %s went",
            question->of_tenant ? "jobs without a tenant" : "all jobs");
  }
}

static void put_title(struct hr__console *console, const struct hr_why *why, const struct hr_why_question *question,
                      const struct hr__why_sums *sums) {
  char *name = hr__fitted(console, why->scenario ? why->scenario : "", HR__LINE_WIDTH - 20, false);
  if (!name) return;
  fprintf(console->out, "%sHeadroom %s%s%s%s\n\n  ", hr__bold(console), hr_version(), *name ? ": " : "", name,
          hr__plain(console));
  put_subject(console, why, question, sums);
  fprintf(console->out, "\n%s", question->only_slowest && sums->all.all_us > 0 ? "" : "\n");
  free(name);
}

/* ---- Answer -------------------------------------------------------------------------------------- */

enum hr_status hr_why_print(FILE *out, const struct hr_why *why, const struct hr_why_question *question, bool colour) {
  struct hr__console console = {.out = out, .colour = colour};
  struct hr__why_sums sums;
  if (question->job.id != HR_NONE) {
    hr__why_print_job(&console, why, question->job);
    return console.out_of_memory ? HR_NO_MEMORY : ferror(out) ? HR_IO_ERROR : HR_OK;
  }
  enum hr_status status = hr__why_add_up(why, question, &sums);
  if (status == HR_OK) {
    put_title(&console, why, question, &sums);
    if (sums.all.all_us == 0)
      print_no_waits(&console, &sums);
    else if (!question->only_slowest)
      print_sums(&console, &sums, question->of_tenant);
    print_slowest(&console, why, &sums, question->slowest);
  }
  hr__why_sums_finish(&sums);
  if (status != HR_OK || console.out_of_memory) return HR_NO_MEMORY;
  return ferror(out) ? HR_IO_ERROR : HR_OK;
}
