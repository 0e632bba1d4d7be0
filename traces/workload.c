/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a trace is cut into blocks. Cuts are a grid on the trace's own clock, so that a time of day is the same moment
 * in the trace, in every block and in what is drawn of them.
 */

#include "headroom/workload.h"

#define HOUR_US (3600 * HR_SECOND_US)
#define DAY_US (24 * HOUR_US)
#define WEEK_US (7 * DAY_US)

/* The most that a trace may lack of a block that counts as whole. */
#define SLACK_US HOUR_US

const char *hr_blocks_name(enum hr_blocks blocks) {
  static const char *const names[] = {
#define BLOCKS_TEXT(name, text) [name] = text,
      HR_BLOCKS_TABLE(BLOCKS_TEXT)
#undef BLOCKS_TEXT
  };
  return (unsigned)blocks < HR_N_BLOCKS ? names[blocks] : "";
}

void hr_workload_spec_init(struct hr_workload_spec *spec) {
  *spec = (struct hr_workload_spec){.blocks = HR_BLOCKS_NONE, .growth = 1};
}

/* Up to its last submit, which is within. */
static int64_t trace_length_us(const struct hr_trace *trace) {
  return trace->submit_us[trace->n_jobs - 1] + 1;
}

/* The first instant of the grid from which on the trace is there: a midnight where it knows of any. */
static int64_t first_cut_us(const struct hr_trace *trace) {
  if (!trace->dated) return 0;
  int64_t since_midnight_us = (trace->origin_us % DAY_US + DAY_US) % DAY_US;
  return since_midnight_us <= SLACK_US ? -since_midnight_us : DAY_US - since_midnight_us;
}

static struct hr_workload_cut cut_by(const struct hr_trace *trace, int64_t block_us, int64_t length_us) {
  int64_t first_us = first_cut_us(trace);
  struct hr_workload_cut cut = {.block_us = block_us, .length_us = length_us, .first_whole = first_us > 0};
  cut.start_us = first_us > 0 ? first_us - block_us : first_us;
  cut.n_positions = (uint32_t)((length_us - cut.start_us + block_us - 1) / block_us);
  uint32_t n_ended = (uint32_t)((trace_length_us(trace) + SLACK_US - cut.start_us) / block_us);
  cut.n_whole = n_ended > cut.first_whole ? n_ended - cut.first_whole : 0;
  cut.keeps_weekdays = block_us == DAY_US && cut.n_whole >= 14;
  return cut;
}

/* Without blocks: the longest ones of which there are two. */
static struct hr_workload_cut cut_for_layers(const struct hr_trace *trace, int64_t length_us) {
  struct hr_workload_cut cut = cut_by(trace, WEEK_US, length_us);
  if (cut.n_whole < 2) cut = cut_by(trace, DAY_US, length_us);
  if (cut.n_whole >= 2) return cut;
  return (struct hr_workload_cut){
      .block_us = trace_length_us(trace), .length_us = length_us, .n_positions = 1, .n_whole = 1};
}

static double days(int64_t us) {
  return (double)us / (double)DAY_US;
}

static enum hr_status too_short(const struct hr_trace *trace, const struct hr_workload_cut *cut,
                                struct hr_error *error) {
  bool by_week = cut->block_us == WEEK_US;
  bool days_would_do = by_week && cut_by(trace, DAY_US, cut->length_us).n_whole >= 2;
  const char *unit = by_week ? "weeks" : "days";
  return hr_fail(error, HR_BAD_INPUT, "%s: its %.2f days hold no two whole %s%s, which drawing %s takes: %s",
                 trace->source, days(trace_length_us(trace)), unit, trace->dated ? " from midnight to midnight" : "",
                 unit, days_would_do ? "draw days instead" : "use it without blocks ('none')");
}

static enum hr_status check_length(const struct hr_trace *trace, const struct hr_workload_spec *spec,
                                   struct hr_error *error) {
  if (spec->length_us < 0 || spec->length_us > HR_MAX_INPUT_US)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: a workload of %.9g s cannot be drawn: its length is to be from 0 to %.9g s", trace->source,
                   (double)spec->length_us / (double)HR_SECOND_US, (double)(HR_MAX_INPUT_US / HR_SECOND_US));
  if (spec->blocks != HR_BLOCKS_NONE || spec->length_us <= trace_length_us(trace)) return HR_OK;
  return hr_fail(
      error, HR_BAD_INPUT,
      "%s: without blocks a workload of %.2f days cannot be longer than the trace, which has %.2f; draw 'days' "
      "or 'weeks'",
      trace->source, days(spec->length_us), days(trace_length_us(trace)));
}

enum hr_status hr_trace_cut(const struct hr_trace *trace, const struct hr_workload_spec *spec,
                            struct hr_workload_cut *cut, struct hr_error *error) {
  if (!trace->n_jobs) return hr_fail(error, HR_BAD_INPUT, "%s: there is no job in it", trace->source);
  if ((unsigned)spec->blocks >= HR_N_BLOCKS)
    return hr_fail(error, HR_BAD_INPUT, "%s: kind of blocks %d is none that there is", trace->source,
                   (int)spec->blocks);
  enum hr_status status = check_length(trace, spec, error);
  if (status != HR_OK) return status;
  int64_t length_us = spec->length_us ? spec->length_us : trace_length_us(trace);
  if (spec->blocks == HR_BLOCKS_NONE) {
    *cut = cut_for_layers(trace, length_us);
    return HR_OK;
  }
  *cut = cut_by(trace, spec->blocks == HR_BLOCKS_DAYS ? DAY_US : WEEK_US, length_us);
  return cut->n_whole >= 2 ? HR_OK : too_short(trace, cut, error);
}
