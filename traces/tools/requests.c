/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests of services: reads them from a file, or draws them.
 *
 * Drawn arrivals are a renewal process in rescaled time (Cinlar 1975): gaps of mean 1 are summed, and a request arrives
 * when the integral of the rate from time 0 reaches this sum. The rate is constant within each hour. With exponential
 * gaps, this is a Poisson process with this rate.
 *
 * Each request has a random stream of its own, so its tokens do not depend on other requests. If the number of requests
 * or the rate changes, the n-th request still has the same tokens. If prompts and outputs are drawn from one trace,
 * both are taken from the same row.
 */

#include "headroom/unstable/trace_tools.h"

#include "base/containers.h"
#include "base/random.h"
#include "traces/core/fields.h"
#include "traces/core/reader.h"
#include "traces/csv/csv.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading --------------------------------------------------------------------------------------- */

/*
 * A request trace is a CSV file, plain or compressed, with one row for each request in order of arrival. The columns
 * are arrival_timestamp (seconds, with up to six decimals), prompt_size and token_size, and optionally prefix_hit: the
 * share of the prompt that needs no computation. Other columns are ignored. Fields may be quoted.
 */

enum { ARRIVAL, PROMPT, OUTPUT, N_NEEDED, PREFIX_HIT = N_NEEDED, N_FIELDS };
static const char *const names[N_FIELDS] = {"arrival_timestamp", "prompt_size", "token_size", "prefix_hit"};

struct request_reader {
  const char *path;
  struct hr__input *input;
  struct hr_service_requests *requests;
  uint64_t line;                               /* line on which the current row begins */
  uint32_t place[N_FIELDS];                    /* position of each field in a row; HR_NONE: none */
  uint32_t n_columns;                          /* number of columns of the header; 0: the header was not read yet */
  uint32_t arrivals, prompts, outputs, cached; /* capacities */
  struct hr_error *error;
};

/* A row: a line without quotes, or a row of a block. */
struct request_row {
  struct hr_text line;
  const struct hr__csv_block *block; /* NULL: the fields are those of `line` */
  const struct hr__csv_row *row;
};

/* Returns the field at a position; its text is NULL if the row is shorter. */
static struct hr_text field_at(const struct request_row *row, uint32_t position) {
  if (!row->block) return hr__comma_field(row->line, position);
  if (position >= row->row->n_fields) return (struct hr_text){NULL, 0};
  const uint32_t *bound = row->block->bound + row->row->first_field + position;
  return (struct hr_text){row->block->bytes + bound[0], bound[1] - bound[0]};
}

static enum hr_status fail(const struct request_reader *reader, uint32_t column, const char *expected,
                           struct hr_text found) {
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%" PRIu64 ": column '%s': expected %s, found '%.*s'", reader->path,
                 reader->line, names[column], expected, (int)(found.length < 60 ? found.length : 60),
                 found.at ? found.at : "");
}

static enum hr_status no_memory(const struct request_reader *reader) {
  return hr_fail(reader->error, HR_NO_MEMORY, "%s: out of memory", reader->path);
}

/* Finds the position of a column; HR_NONE if it is missing. A column that occurs twice is an error. */
static enum hr_status find_column(const struct request_reader *reader, const struct request_row *row, const char *name,
                                  uint32_t *place) {
  *place = HR_NONE;
  for (uint32_t position = 0;; position++) {
    const struct hr_text text = field_at(row, position);
    if (!text.at) return HR_OK;
    if (!hr__text_is(text, name)) continue;
    if (*place != HR_NONE)
      return hr_fail(reader->error, HR_BAD_INPUT, "%s:%" PRIu64 ": column '%s' is in the header twice", reader->path,
                     reader->line, name);
    *place = position;
  }
}

static enum hr_status read_header(struct request_reader *reader, const struct request_row *row) {
  while (field_at(row, reader->n_columns).at) reader->n_columns++;
  for (uint32_t f = 0; f < N_FIELDS; f++) {
    const enum hr_status status = find_column(reader, row, names[f], &reader->place[f]);
    if (status != HR_OK) return status;
    if (reader->place[f] == HR_NONE && f != PREFIX_HIT)
      return hr_fail(reader->error, HR_BAD_INPUT,
                     "%s:%" PRIu64 ": expected the columns '%s', '%s' and '%s'; '%s' is missing", reader->path,
                     reader->line, names[0], names[1], names[2], names[f]);
  }
  return HR_OK;
}

uint32_t hr_request_cached_tokens(uint32_t prompt_tokens, uint32_t prefix_hit_ppm) {
  const uint32_t cached = (uint32_t)((uint64_t)prompt_tokens * prefix_hit_ppm / 1000000);
  return cached < prompt_tokens ? cached : prompt_tokens - 1;
}

/* Reads the share of the prompt of the row that needs no computation. */
static enum hr_status read_hit(struct request_reader *reader, const struct request_row *row, uint32_t prompt_tokens) {
  static const struct hr__number_rule share = {.factor = 1000000, .max = 1000000};
  struct hr_service_requests *requests = reader->requests;
  uint64_t ppm = 0;
  if (reader->place[PREFIX_HIT] == HR_NONE) return HR_OK;
  const struct hr_text text = field_at(row, reader->place[PREFIX_HIT]);
  if (!text.at || !text.length || hr__number_parse(text, &share, &ppm) != HR__NUMBER_FINE)
    return fail(reader, PREFIX_HIT, "a number from 0 to 1", text);
  if (!HR__ARRAY_HAS_ROOM(requests->cached_tokens, requests->count, reader->cached)) return no_memory(reader);
  requests->cached_tokens[requests->count] = hr_request_cached_tokens(prompt_tokens, (uint32_t)ppm);
  return HR_OK;
}

static enum hr_status read_request(struct request_reader *reader, const struct request_row *row) {
  static const struct hr__number_rule micros = {.factor = 1000000, .max = (uint64_t)HR_MAX_INPUT_US},
                                      tokens = {.factor = 1, .max = 1u << 30, .whole = true};
  struct hr_service_requests *requests = reader->requests;
  uint64_t value[N_FIELDS] = {0};
  for (uint32_t f = 0; f < N_NEEDED; f++) {
    const struct hr_text text = field_at(row, reader->place[f]);
    const bool is_number = text.at && text.length &&
                           hr__number_parse(text, f == ARRIVAL ? &micros : &tokens, &value[f]) == HR__NUMBER_FINE;
    if (!is_number) return fail(reader, f, f == ARRIVAL ? "a number of seconds" : "a whole number", text);
    if (f != ARRIVAL && value[f] == 0) return fail(reader, f, "at least 1", text);
  }
  const struct hr_text more = field_at(row, reader->n_columns);
  if (more.at)
    return hr_fail(reader->error, HR_BAD_INPUT,
                   "%s:%" PRIu64 ": expected the %" PRIu32 " fields of the header, found one more: '%.*s'",
                   reader->path, reader->line, reader->n_columns, (int)(more.length < 60 ? more.length : 60), more.at);
  const uint32_t n = requests->count;
  if (n && (int64_t)value[ARRIVAL] < requests->arrival_us[n - 1])
    return fail(reader, ARRIVAL, "a time that is not before the previous row; sort the rows by this column",
                field_at(row, reader->place[ARRIVAL]));
  if (!HR__ARRAY_HAS_ROOM(requests->arrival_us, n, reader->arrivals) ||
      !HR__ARRAY_HAS_ROOM(requests->prompt_tokens, n, reader->prompts) ||
      !HR__ARRAY_HAS_ROOM(requests->output_tokens, n, reader->outputs))
    return no_memory(reader);
  const enum hr_status status = read_hit(reader, row, (uint32_t)value[PROMPT]);
  if (status != HR_OK) return status;
  requests->arrival_us[n] = (int64_t)value[ARRIVAL];
  requests->prompt_tokens[n] = (uint32_t)value[PROMPT];
  requests->output_tokens[n] = (uint32_t)value[OUTPUT];
  requests->count = n + 1;
  return HR_OK;
}

static enum hr_status read_row(struct request_reader *reader, const struct request_row *row, uint64_t line) {
  reader->line = line;
  return reader->n_columns ? read_request(reader, row) : read_header(reader, row);
}

/* Reads the rows from a line with a quote to the end of the file. */
static enum hr_status read_quoted(struct request_reader *reader, struct hr_text line) {
  struct hr__csv_blocks *blocks = hr__csv_blocks_resume(reader->input, reader->path, line);
  const struct hr__csv_block *block;
  enum hr_status status = blocks ? HR_OK : no_memory(reader);
  while (status == HR_OK) {
    status = hr__csv_blocks_next(blocks, &block, reader->error);
    if (status != HR_OK || !block) break;
    for (size_t i = 0; i < block->n_rows && status == HR_OK; i++) {
      const struct request_row row = {.block = block, .row = &block->rows[i]};
      status = read_row(reader, &row, row.row->line);
    }
  }
  hr__csv_blocks_close(blocks);
  return status;
}

/* Reads all rows. Lines without quotes are split in this file, which is faster than libcsv. From the first line with a
   quote on, libcsv is used. */
static enum hr_status read_lines(struct request_reader *reader) {
  for (;;) {
    struct hr_text line;
    enum hr_status status = hr__input_line(reader->input, &line, reader->error);
    if (status != HR_OK || !line.at) return status;
    if (memchr(line.at, '"', line.length)) return read_quoted(reader, line);
    const struct request_row row = {.line = hr__without_end(line)};
    if (row.line.length) status = read_row(reader, &row, hr__input_line_number(reader->input));
    if (status != HR_OK) return status;
  }
}

enum hr_status hr_requests_read(const char *path, struct hr_service_requests *requests, struct hr_error *error) {
  struct request_reader reader = {.path = path, .requests = requests, .error = error};
  *requests = (struct hr_service_requests){0};
  enum hr_status status = hr__input_open(path, &reader.input, error);
  if (status == HR_OK) status = read_lines(&reader);
  hr__input_close(reader.input);
  if (status == HR_OK && requests->count == 0) status = hr_fail(error, HR_BAD_INPUT, "%s: no requests", path);
  return status;
}

void hr_requests_finish(struct hr_service_requests *requests) {
  free(requests->arrival_us);
  free(requests->prompt_tokens);
  free(requests->output_tokens);
  free(requests->cached_tokens);
  *requests = (struct hr_service_requests){0};
}

/* ---- Drawing --------------------------------------------------------------------------------------- */

enum { HOUR_S = 3600, DAY_HOURS = 24, WEEK_DAYS = 7, YEAR_HOURS = 365 * 24 };
static const double max_tokens = 1 << 30;

/* ---- Drawing: rates -------------------------------------------------------------------------------- */

/* Returns an entry of `factors` divided by their mean; 1 without factors. */
static double relative(const double *factors, uint32_t count, uint32_t index) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += factors[i];
  return count ? factors[index] * count / sum : 1;
}

/* Returns the expected number of requests in an hour. Hours are counted from time 0. */
static double rate_of_hour(const struct hr_request_draw *draw, uint64_t hour) {
  const uint64_t local = hour + (uint64_t)(WEEK_DAYS * DAY_HOURS + draw->offset_h);
  const double of_day = relative(draw->hourly, draw->n_hourly, (uint32_t)(local % DAY_HOURS));
  const double of_week = relative(draw->weekly, draw->n_weekly, (uint32_t)(local / DAY_HOURS % WEEK_DAYS));
  const double grown = draw->growth_per_year == 1 ? 1 : pow(draw->growth_per_year, (double)hour / YEAR_HOURS);
  return draw->rate_per_s * HOUR_S * of_day * of_week * grown;
}

double hr_request_draw_expected(const struct hr_request_draw *draw, int64_t until_us) {
  const double hours = (double)until_us / 1e6 / HOUR_S;
  double sum = 0;
  uint64_t hour = 0;
  for (; (double)(hour + 1) <= hours; hour++) sum += rate_of_hour(draw, hour);
  return sum + (hours - (double)hour) * rate_of_hour(draw, hour);
}

/* ---- Drawing: state -------------------------------------------------------------------------------- */

struct request_draw {
  const struct hr_request_draw *spec;
  uint32_t service;
  uint64_t seed;
  struct hr__stream gaps;
  gsl_rng rng;
  uint64_t hour;                               /* the hour of the last arrival */
  double in_hour, passed;                      /* expected requests: in this hour, and in its part that has passed */
  struct hr_service_requests prompts, outputs; /* traces that tokens are drawn from */
};

/* Returns the time of the next arrival in microseconds; HR_MAX_INPUT_US at the latest. */
static int64_t next_arrival(struct request_draw *draw) {
  const double cv = draw->spec->cv, shape = 1 / (cv * cv);
  const bool is_poisson = draw->spec->arrivals == HR_ARRIVALS_POISSON || cv == 1;
  draw->passed += is_poisson ? -log(hr__stream_uniform(&draw->gaps)) : gsl_ran_gamma(&draw->rng, shape, 1 / shape);
  while (draw->passed >= draw->in_hour) {
    draw->passed -= draw->in_hour;
    draw->in_hour = rate_of_hour(draw->spec, ++draw->hour);
    if (draw->hour > (uint64_t)(HR_MAX_INPUT_US / HR_SECOND_US / HOUR_S)) return HR_MAX_INPUT_US;
  }
  return llround(((double)draw->hour + draw->passed / draw->in_hour) * HOUR_S * 1e6);
}

/* ---- Drawing: tokens ------------------------------------------------------------------------------- */

/* Returns the number of tokens for a uniform random number `p`. `values` are the tokens of a trace; they are used by
   empirical laws only. */
static uint32_t tokens_at(const struct hr_token_law *law, double p, const uint32_t *values, uint32_t n_values) {
  double tokens = law->mean;
  switch (law->kind) {
  case HR_TOKENS_EXPONENTIAL: /* P(more than n) = (1 - 1 / mean)^n */
    tokens = law->mean > 1 ? 1 + floor(log(p) / log1p(-1 / law->mean)) : 1;
    break;
  case HR_TOKENS_LOG_NORMAL:
    tokens = law->mean * exp(law->sigma * gsl_cdf_ugaussian_Pinv(p) - law->sigma * law->sigma / 2);
    break;
  case HR_TOKENS_EMPIRICAL:
    tokens = values[(uint32_t)(p * (double)n_values)];
    break;
  default:
    break;
  }
  if (tokens < law->min) tokens = law->min;
  if (law->max && tokens > law->max) tokens = law->max;
  return (uint32_t)fmin(fmax(1, floor(tokens + 0.5)), max_tokens);
}

/* Returns P(X >= x) of a log-normal number X. */
static double tail(const struct hr_token_law *law, double x) {
  const double log_ratio = log(x / law->mean) + law->sigma * law->sigma / 2;
  if (law->sigma <= 0) return law->mean >= x;
  return gsl_cdf_ugaussian_Q(log_ratio / law->sigma);
}

/* Returns E[min(X, x)] of a log-normal number X. */
static double limited_mean(const struct hr_token_law *law, double x) {
  const double sigma = law->sigma, log_ratio = log(x / law->mean);
  if (sigma <= 0) return fmin(law->mean, x);
  return law->mean * gsl_cdf_ugaussian_P(log_ratio / sigma - sigma / 2) +
         x * gsl_cdf_ugaussian_Q(log_ratio / sigma + sigma / 2);
}

/* Returns the mean of the number N of tokens, which is rounded and limited to min .. max. The mean is the sum of P(N >
   n) over all n from 0. For large n, the sum is replaced by an integral (midpoint rule). */
static double log_normal_mean(const struct hr_token_law *law, uint32_t min, uint32_t max) {
  enum { N_SUMMED = 4096 };
  const uint32_t summed = max - min > N_SUMMED ? min + N_SUMMED : max;
  double mean = min;
  for (uint32_t n = min; n < summed; n++) mean += tail(law, n + 0.5);
  return summed < max ? mean + limited_mean(law, max) - limited_mean(law, summed) : mean;
}

double hr_token_law_mean(const struct hr_token_law *law) {
  const uint32_t min = law->min ? law->min : 1, max = law->max ? law->max : (uint32_t)max_tokens;
  if (law->kind == HR_TOKENS_LOG_NORMAL) return log_normal_mean(law, min, max);
  if (law->kind == HR_TOKENS_FIXED || law->mean <= 1) return fmin(fmax(floor(law->mean + 0.5), min), max);
  const double more = log1p(-1 / law->mean); /* P(more than n) = exp(more * n) */
  return min + law->mean * (exp(more * min) - exp(more * max));
}

static void draw_tokens(const struct request_draw *draw, uint32_t id, uint32_t *prompt, uint32_t *output) {
  const struct hr_token_law *in = &draw->spec->prompt, *out = &draw->spec->output;
  struct hr__stream stream;
  hr__stream_init(&stream, draw->seed, HR__PURPOSE_TOKENS, id, draw->service);
  const double p = hr__stream_uniform(&stream), q = hr__stream_uniform(&stream);
  const bool same_row =
      in->kind == HR_TOKENS_EMPIRICAL && out->kind == HR_TOKENS_EMPIRICAL && strcmp(in->trace, out->trace) == 0;
  *prompt = tokens_at(in, p, draw->prompts.prompt_tokens, draw->prompts.count);
  *output = tokens_at(out, same_row ? p : q, draw->outputs.output_tokens, draw->outputs.count);
}

/* ---- Drawing: requests ----------------------------------------------------------------------------- */

static enum hr_status draw_all(struct request_draw *draw, struct hr_service_requests *requests,
                               struct hr_error *error) {
  const struct hr_request_draw *spec = draw->spec;
  const uint64_t most = spec->count ? spec->count : UINT32_MAX - 1;
  const int64_t until_us = spec->duration_us ? spec->duration_us : HR_MAX_INPUT_US;
  uint32_t arrivals = 0, prompts = 0, outputs = 0; /* capacities */
  while (requests->count < most) {
    const int64_t at_us = next_arrival(draw);
    const uint32_t n = requests->count;
    if (at_us >= until_us) break;
    if (!HR__ARRAY_HAS_ROOM(requests->arrival_us, n, arrivals) ||
        !HR__ARRAY_HAS_ROOM(requests->prompt_tokens, n, prompts) ||
        !HR__ARRAY_HAS_ROOM(requests->output_tokens, n, outputs))
      return hr_fail(error, HR_NO_MEMORY, "out of memory for the requests of a service");
    requests->arrival_us[n] = at_us;
    draw_tokens(draw, n, &requests->prompt_tokens[n], &requests->output_tokens[n]);
    requests->count = n + 1;
  }
  return HR_OK;
}

static enum hr_status read_law(const struct hr_token_law *law, struct hr_service_requests *values,
                               struct hr_error *error) {
  return law->kind == HR_TOKENS_EMPIRICAL ? hr_requests_read(law->trace, values, error) : HR_OK;
}

static enum hr_status draw_requests(const struct hr_service *service, uint32_t index, uint64_t seed,
                                    struct hr_service_requests *requests, struct hr_error *error) {
  *requests = (struct hr_service_requests){0};
  struct request_draw draw = {
      .spec = &service->draw, .service = index, .seed = service->draw.seed ? service->draw.seed : seed};
  draw.in_hour = rate_of_hour(draw.spec, 0);
  hr__stream_init(&draw.gaps, draw.seed, HR__PURPOSE_REQUEST, index, 0);
  draw.rng = hr__stream_rng(&draw.gaps);
  enum hr_status status = read_law(&draw.spec->prompt, &draw.prompts, error);
  if (status == HR_OK) status = read_law(&draw.spec->output, &draw.outputs, error);
  if (status == HR_OK) status = draw_all(&draw, requests, error);
  hr_requests_finish(&draw.prompts);
  hr_requests_finish(&draw.outputs);
  return status;
}

/* Sets the cached tokens of all requests from the share of the service. Does nothing if the requests have values of
   their own, or if the share is 0. */
static enum hr_status add_cached(const struct hr_service *service, struct hr_service_requests *requests,
                                 struct hr_error *error) {
  if (requests->cached_tokens || !service->prefix_hit_ppm) return HR_OK;
  requests->cached_tokens = calloc(requests->count, sizeof *requests->cached_tokens);
  if (!requests->cached_tokens) return hr_fail(error, HR_NO_MEMORY, "out of memory for the requests of a service");
  for (uint32_t i = 0; i < requests->count; i++)
    requests->cached_tokens[i] = hr_request_cached_tokens(requests->prompt_tokens[i], service->prefix_hit_ppm);
  return HR_OK;
}

enum hr_status hr_requests_of_service(const struct hr_service *service, uint32_t index, uint64_t seed,
                                      struct hr_service_requests *requests, struct hr_error *error) {
  *requests = (struct hr_service_requests){0};
  if (service->only_gets) return HR_OK;
  const enum hr_status status = service->requests ? hr_requests_read(service->requests, requests, error)
                                                  : draw_requests(service, index, seed, requests, error);
  return status == HR_OK ? add_cached(service, requests, error) : status;
}

bool hr_requests_are_random(const struct hr_service *service) {
  return !service->requests && !service->draw.seed;
}
