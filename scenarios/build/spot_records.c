/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads recorded spot capacity in three formats, and recorded spot prices in one format. Both become a list of steps in
 * order of time.
 *
 * A step of capacity has the number of available nodes from its time on; consecutive steps have different numbers.
 * Price changes of the selected zones are collected, sorted by time and reduced to the lowest price at each time. Names
 * are interned, because a file with a million changes has only about a thousand distinct names.
 */

#include "scenarios/build/builder.h"

#include "base/containers.h"
#include "scenarios/catalog/catalog_tables.h"
#include "traces/core/fields.h"
#include "traces/core/reader.h"
#include "traces/csv/csv.h"
#include "traces/json/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COUNT = 16000000 };

struct record {
  const char *path;
  struct hr_error *error;
  struct hr_level_step *steps;
  uint32_t count, capacity;
  /* time of the last line; in JSON, the end of the last entry */
  int64_t end_us;
};

static enum hr_status no_memory(const struct record *record) {
  return hr_fail(record->error, HR_NO_MEMORY, "%s: out of memory", record->path);
}

/* Appends a step. It replaces a previous step at the same time. A step that does not change the level is dropped. */
static enum hr_status add_step(struct record *record, int64_t at_us, uint32_t level) {
  record->end_us = at_us;
  if (record->count && record->steps[record->count - 1].at_us == at_us) record->count--;
  if (record->count && record->steps[record->count - 1].level == level) return HR_OK;
  if (!HR__ARRAY_HAS_ROOM(record->steps, record->count, record->capacity)) return no_memory(record);
  record->steps[record->count++] = (struct hr_level_step){at_us, level};
  return HR_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static enum hr_status read_counts(struct record *record, const cJSON *data, double gap_s) {
  int64_t gap_us = llround(gap_s * (double)HR_SECOND_US), at_us = 0;
  size_t place = 0;
  for (const cJSON *each = data->child; each; each = each->next, place++, at_us += gap_us) {
    if (at_us > HR_MAX_INPUT_US - gap_us)
      return hr_fail(record->error, HR_BAD_INPUT,
                     "%s: entry %zu of 'data' ends more than 3,000 years after the start, because "
                     "'metadata.gap_seconds', the time between entries, is %.10g s",
                     record->path, place, gap_s);
    double value = each->valuedouble;
    if (!cJSON_IsNumber(each) || value != floor(value) || value < 0 || value > MAX_COUNT)
      return hr_fail(record->error, HR_BAD_INPUT,
                     "%s: entry %zu of 'data' is not a whole number from 0 to %d; an entry is a number of nodes",
                     record->path, place, MAX_COUNT);
    enum hr_status status = add_step(record, at_us, (uint32_t)value);
    if (status != HR_OK) return status;
  }
  record->end_us = at_us;
  return HR_OK;
}

static enum hr_status read_json_tree(struct record *record, const cJSON *tree) {
  const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(tree, "metadata");
  const cJSON *gap = cJSON_GetObjectItemCaseSensitive(metadata, "gap_seconds");
  const cJSON *data = cJSON_GetObjectItemCaseSensitive(tree, "data");
  if (!cJSON_IsNumber(gap) || !(gap->valuedouble >= 1e-6 && gap->valuedouble <= 1e9))
    return hr_fail(record->error, HR_BAD_INPUT,
                   "%s: 'metadata.gap_seconds' is missing or not a number of seconds above 0; a record is "
                   "{\"metadata\": {\"gap_seconds\": 300}, \"data\": [1, 0, ...]}",
                   record->path);
  if (!cJSON_IsArray(data) || !data->child)
    return hr_fail(record->error, HR_BAD_INPUT,
                   "%s: 'data' is missing, empty or not a list; it is the list of numbers of nodes", record->path);
  return read_counts(record, data, gap->valuedouble);
}

static enum hr_status read_json(struct record *record) {
  struct hr__json_file file;
  enum hr_status status = hr__json_file_read(record->path, &file, record->error);
  if (status != HR_OK) return status;
  status = read_json_tree(record, file.tree);
  hr__json_file_finish(&file);
  return status;
}

/* ---- Lines ------------------------------------------------------------------------------------------ */

struct lines {
  struct record *record;
  struct hr__input *input;
  bool dated;       /* true: lines are dated counts; false: lines are changes of a fleet */
  int64_t first_us; /* dated counts: time of the first line */
  uint64_t n_late;  /* dated counts: number of ignored lines, whose time is before that of an accepted line */
  uint32_t alive;   /* changes of a fleet: current number of nodes */
};

static enum hr_status bad_line(const struct lines *lines, struct hr_text line, const char *right) {
  char quoted[HR__QUOTE_BYTES];
  return hr_fail(lines->record->error, HR_BAD_INPUT, "%s:%llu: '%s' is not %s", lines->record->path,
                 (unsigned long long)hr__input_line_number(lines->input), hr__quote(line, quoted), right);
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct hr_text trim(struct hr_text text) {
  while (text.length && is_space(text.at[text.length - 1])) text.length--;
  while (text.length && is_space(*text.at)) text.at++, text.length--;
  return text;
}

/* Splits a line at its commas. Returns true if there are exactly three fields. */
static bool three_fields(struct hr_text line, struct hr_text field[3]) {
  for (int i = 0; i < 3; i++) {
    const char *comma = memchr(line.at, ',', line.length);
    size_t length = comma ? (size_t)(comma - line.at) : line.length;
    if ((i < 2) != (comma != NULL)) return false;
    field[i] = trim((struct hr_text){line.at, length});
    if (comma) line = (struct hr_text){comma + 1, line.length - length - 1};
  }
  return true;
}

static bool is_word(struct hr_text text, const char *word) {
  return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

static enum hr_status add_change(struct lines *lines, struct hr_text line, const struct hr_text field[3]) {
  static const struct hr__number_rule milliseconds = {1000, (uint64_t)HR_MAX_INPUT_US, false};
  uint64_t at_us;
  bool add = is_word(field[1], "add"), remove = is_word(field[1], "remove");
  if (hr__number_parse(field[0], &milliseconds, &at_us) != HR__NUMBER_FINE || (!add && !remove))
    return bad_line(lines, line, "MILLISECONDS,add|remove,NODE");
  if ((int64_t)at_us < lines->record->end_us)
    return bad_line(lines, line, "in order: its time is earlier than that of the line before");
  if (remove && lines->alive == 0) return bad_line(lines, line, "possible: there is no node to remove");
  lines->alive += add ? 1 : (uint32_t)-1;
  return add_step(lines->record, (int64_t)at_us, lines->alive);
}

/* Adds a dated count. A line that is earlier than the previous accepted line is ignored; `n_late` counts such lines. */
static enum hr_status add_count(struct lines *lines, struct hr_text line, const struct hr_text field[3]) {
  static const struct hr__number_rule count_rule = {1, MAX_COUNT, true};
  char date[64];
  int64_t at_us;
  bool zoned;
  uint64_t count;
  if (field[0].length + field[1].length + 2 > sizeof date) return bad_line(lines, line, "DATE, TIME, COUNT");
  memcpy(date, field[0].at, field[0].length);
  date[field[0].length] = ' ';
  memcpy(date + field[0].length + 1, field[1].at, field[1].length);
  struct hr_text when = {date, field[0].length + 1 + field[1].length};
  if (!hr__date_parse(when, &at_us, &zoned) || hr__number_parse(field[2], &count_rule, &count) != HR__NUMBER_FINE)
    return bad_line(lines, line, "MILLISECONDS,add|remove,NODE nor YYYY-MM-DD, HH:MM:SS, COUNT");
  if (!lines->record->count) lines->first_us = at_us;
  at_us -= lines->first_us;
  if (at_us > HR_MAX_INPUT_US) return bad_line(lines, line, "within 100000000000 s of the first one");
  if (at_us >= lines->record->end_us) return add_step(lines->record, at_us, (uint32_t)count);
  lines->n_late++;
  return HR_OK;
}

static enum hr_status add_line(struct lines *lines, struct hr_text line) {
  struct hr_text field[3], text = trim(line);
  if (!text.length) return HR_OK;
  if (!three_fields(text, field)) return bad_line(lines, text, "MILLISECONDS,add|remove,NODE nor DATE, TIME, COUNT");
  if (!lines->record->count) {
    lines->dated = memchr(field[0].at, '-', field[0].length) != NULL;
    enum hr_status status = lines->dated ? HR_OK : add_step(lines->record, 0, 0); /* a fleet has no nodes at first */
    if (status != HR_OK) return status;
  }
  return lines->dated ? add_count(lines, text, field) : add_change(lines, text, field);
}

static enum hr_status read_lines(struct record *record, struct hr__input *input, struct hr_notes *notes) {
  struct lines lines = {.record = record, .input = input};
  struct hr_text line;
  enum hr_status status;
  while ((status = hr__input_line(input, &line, record->error)) == HR_OK && line.at) {
    status = add_line(&lines, line);
    if (status != HR_OK) return status;
  }
  if (status != HR_OK || !lines.n_late) return status;
  status = hr_notes_add(notes, "%s: %llu lines ignored: an accepted line before them is later", record->path,
                        (unsigned long long)lines.n_late);
  return status == HR_OK ? HR_OK : no_memory(record);
}

/* ---- The record ------------------------------------------------------------------------------------- */

static bool begins_with_brace(const struct hr__input *input) {
  struct hr_text text = hr__input_peek(input);
  while (text.length && is_space(*text.at)) text.at++, text.length--;
  return text.length && *text.at == '{';
}

static enum hr_status read_record(struct record *record, struct hr_notes *notes) {
  struct hr__input *input;
  enum hr_status status = hr__input_open(record->path, &input, record->error);
  if (status != HR_OK) return status;
  bool json = begins_with_brace(input);
  if (!json) status = read_lines(record, input, notes);
  hr__input_close(input);
  return json ? read_json(record) : status;
}

/* Scales the levels so that the maximum, `highest`, becomes `n_nodes`. Drops steps that no longer change the level. */
static void scale(struct record *record, uint32_t n_nodes, uint32_t highest) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < record->count; i++) {
    struct hr_level_step step = record->steps[i];
    step.level = (uint32_t)((2 * (uint64_t)step.level * n_nodes + highest) / (2 * (uint64_t)highest));
    if (!kept || record->steps[kept - 1].level != step.level) record->steps[kept++] = step;
  }
  record->count = kept;
}

static enum hr_status finish_record(struct record *record, uint32_t n_nodes) {
  uint32_t highest = 0;
  if (record->count && record->steps[record->count - 1].at_us == record->end_us && record->count > 1) record->count--;
  for (uint32_t i = 0; i < record->count; i++)
    if (record->steps[i].level > highest) highest = record->steps[i].level;
  if (record->end_us <= 0)
    return hr_fail(record->error, HR_BAD_INPUT, "%s: the record covers no time; at least two lines are expected",
                   record->path);
  if (highest == 0) return hr_fail(record->error, HR_BAD_INPUT, "%s: the record never has a node", record->path);
  scale(record, n_nodes, highest);
  return HR_OK;
}

enum hr_status hr__spot_levels_read(const char *path, uint32_t n_nodes, struct hr__spot_levels *levels,
                                    struct hr_notes *notes, struct hr_error *error) {
  struct record record = {.path = path, .error = error};
  enum hr_status status = read_record(&record, notes);
  if (status == HR_OK) status = finish_record(&record, n_nodes);
  if (status != HR_OK) {
    free(record.steps);
    return status;
  }
  *levels = (struct hr__spot_levels){record.steps, record.count, record.end_us};
  return HR_OK;
}

/* ---- Recorded prices -------------------------------------------------------------------------------- */

#define GAP_US (INT64_C(48) * 3600 * HR_SECOND_US)

struct price_row {
  int64_t at_us;
  struct hr_text instance, accelerator, accelerators, region, zone, price;
};

#define ROW(member) offsetof(struct price_row, member)
static const struct hr__csv_column columns[] = {
    {"unix_time", NULL, HR__INSTANT, true, true, ROW(at_us), (uint64_t)HR_SECOND_US},
    {"instance_type", NULL, HR__TEXT, true, false, ROW(instance), 0},
    {"accelerator", NULL, HR__TEXT, false, false, ROW(accelerator), 0},
    {"accelerator_count", NULL, HR__TEXT, false, false, ROW(accelerators), 0},
    {"region", NULL, HR__TEXT, true, false, ROW(region), 0},
    {"availability_zone", NULL, HR__TEXT, true, false, ROW(zone), 0},
    {"spot_usd_per_h", NULL, HR__TEXT, true, false, ROW(price), 0}};
#undef ROW

struct price_change {
  int64_t at_us;
  int64_t uusd_h;       /* price per GPU */
  uint32_t zone, order; /* number of the zone; number of the change in the order of the file */
};

struct collector {
  struct hr__reader *reader;
  const struct hr__spot_price_query *query;
  struct hr__name_table offers;         /* all instance types or accelerators in the file, for error messages */
  struct hr__name_table regions, zones; /* regions and zones of the selected instance type or accelerator */
  struct price_change *changes;
  /* n_priceless: changes without a price; n_bare: rows without an instance type */
  uint32_t count, capacity, n_priceless, n_bare;
};

/* ---- Collecting ------------------------------------------------------------------------------------- */

static bool is_text(struct hr_text text, const char *wanted) {
  return text.at && text.length == strlen(wanted) && memcmp(text.at, wanted, text.length) == 0;
}

static const char *selected_offer(const struct hr__spot_price_query *query) {
  return query->accelerator ? query->accelerator : query->instance;
}

/* Returns true if the row is for the selected instance type, or for the selected accelerator and number of
   accelerators. This number may be written as 8 or as 8.0. */
static bool is_selected_offer(const struct hr__spot_price_query *query, const struct price_row *row) {
  static const struct hr__number_rule count = {1000, UINT64_C(1000000000), false};
  if (!query->accelerator) return is_text(row->instance, query->instance);
  uint64_t thousandths;
  return is_text(row->accelerator, query->accelerator) &&
         hr__number_parse(row->accelerators, &count, &thousandths) == HR__NUMBER_FINE &&
         thousandths == query->gpus * UINT64_C(1000);
}

static bool is_selected_zone(const struct hr__spot_price_query *query, struct hr_text zone) {
  for (size_t i = 0; i < query->n_zones; i++)
    if (is_text(zone, query->zones[i])) return true;
  return query->n_zones == 0;
}

static enum hr_status add_price_change(struct collector *collector, const struct price_row *row, uint32_t zone,
                                       int64_t uusd_h) {
  if (!HR__ARRAY_HAS_ROOM(collector->changes, collector->count, collector->capacity))
    return hr__reader_no_memory(collector->reader);
  uint32_t order = collector->count++;
  collector->changes[order] = (struct price_change){row->at_us, uusd_h, zone, order};
  return HR_OK;
}

static enum hr_status on_change(void *self, const void *data, uint64_t line) {
  static const struct hr__number_rule dollars = {1000000, HR_MAX_USD_H * UINT64_C(1000000), false};
  struct collector *collector = self;
  const struct price_row *row = data;
  const struct hr__spot_price_query *query = collector->query;
  struct hr_text offer = query->accelerator ? row->accelerator : row->instance;
  if (hr__names_intern(&collector->offers, offer.at ? offer.at : "", offer.length) == HR_NONE)
    return hr__reader_no_memory(collector->reader);
  if (!is_selected_offer(query, row)) return HR_OK;
  if (hr__names_intern(&collector->regions, row->region.at ? row->region.at : "", row->region.length) == HR_NONE)
    return hr__reader_no_memory(collector->reader);
  if (query->region && !is_text(row->region, query->region)) return HR_OK;
  uint32_t zone = hr__names_intern(&collector->zones, row->zone.at ? row->zone.at : "", row->zone.length);
  if (zone == HR_NONE) return hr__reader_no_memory(collector->reader);
  if (!is_selected_zone(query, row->zone)) return HR_OK;
  if (!row->price.length) {
    collector->n_priceless++;
    return HR_OK;
  }
  uint64_t uusd_h;
  if (hr__number_parse(row->price, &dollars, &uusd_h) != HR__NUMBER_FINE) {
    struct hr__row_fault fault = {.column = "spot_usd_per_h",
                                  .value = row->price,
                                  .fault = "not an amount of dollars of at least 0",
                                  .line = line};
    return hr__reader_bad_row(collector->reader, &fault);
  }
  collector->n_bare += row->instance.length == 0;
  return add_price_change(collector, row, zone, (int64_t)((uusd_h + query->gpus / 2) / query->gpus));
}

static enum hr_status collect(struct collector *collector) {
  static const char *const ignored[] = {"on_demand_usd_per_h", NULL};
  static const struct price_row blank;
  struct price_row row;
  const struct hr__csv_schema schema = {.columns = columns,
                                        .n_columns = sizeof columns / sizeof *columns,
                                        .ignored = ignored,
                                        .missing_hint = "a list of price changes has unix_time, instance_type, region, "
                                                        "availability_zone, spot_usd_per_h",
                                        .row = &row,
                                        .blank_row = &blank,
                                        .row_bytes = sizeof row,
                                        .on_row = on_change,
                                        .self = collector};
  return hr__csv_read_rows(collector->reader, &schema);
}

/* ---- Unknown names ---------------------------------------------------------------------------------- */

static enum hr_status fail_near(const struct collector *collector, const char *what, const char *wanted,
                                const struct hr__name_table *names) {
  char place[300];
  const char **known = calloc((size_t)names->count + 1, sizeof *known);
  if (!known) return hr__reader_no_memory(collector->reader);
  for (uint32_t i = 0; i < names->count; i++) known[i] = names->text[i];
  snprintf(place, sizeof place, "%.200s: %s", collector->reader->path, what);
  enum hr_status status = hr__catalog_unknown(collector->reader->error, place, wanted, known);
  free(known);
  return status;
}

static bool has_name(const struct hr__name_table *names, const char *wanted) {
  return hr__names_find(names, wanted, strlen(wanted)) != HR_NONE;
}

static enum hr_status check_found(const struct collector *collector) {
  const struct hr__spot_price_query *query = collector->query;
  const char *offer = selected_offer(query);
  if (collector->regions.count == 0) {
    if (!has_name(&collector->offers, offer))
      return fail_near(collector, query->accelerator ? "accelerator" : "instance type", offer, &collector->offers);
    return hr_fail(collector->reader->error, HR_BAD_INPUT, "%s: no prices of %u x '%.60s'", collector->reader->path,
                   (unsigned)query->gpus, offer);
  }
  if (query->region && !has_name(&collector->regions, query->region))
    return fail_near(collector, "region with such prices", query->region, &collector->regions);
  for (size_t i = 0; i < query->n_zones; i++)
    if (!has_name(&collector->zones, query->zones[i]))
      return fail_near(collector, "zone with such prices", query->zones[i], &collector->zones);
  return HR_OK;
}

/* ---- Lowest price at each time ---------------------------------------------------------------------- */

static int by_time(const void *a, const void *b) {
  const struct price_change *x = a, *y = b;
  if (x->at_us != y->at_us) return x->at_us < y->at_us ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

static int64_t lowest(const int64_t *price, uint32_t n_zones) {
  int64_t lowest_price = HR_NEVER_US;
  for (uint32_t i = 0; i < n_zones; i++)
    if (price[i] < lowest_price) lowest_price = price[i];
  return lowest_price;
}

/* Counts a gap of more than 48 hours before a price change of a zone, and adds a note on the first gap of the file.
   `seen_us`: by zone, the time of the previous price. `n_gaps` counts the gaps of all zones. */
static enum hr_status note_gap(const struct collector *collector, const int64_t *seen_us,
                               const struct price_change *change, int64_t from_us, uint32_t *n_gaps) {
  if (change->at_us <= from_us) return HR_OK; /* gaps before the run have no effect */
  if (seen_us[change->zone] == HR_UNKNOWN_US || change->at_us - seen_us[change->zone] <= GAP_US) return HR_OK;
  if ((*n_gaps)++ > 0) return HR_OK;
  enum hr_status status =
      hr_notes_add(collector->reader->notes,
                   "%s: no price of '%s' in zone '%s' from Unix time %" PRId64 " to %" PRId64
                   "; the last price applies, here and in all other gaps of more than 48 h",
                   collector->reader->path, selected_offer(collector->query), collector->zones.text[change->zone],
                   seen_us[change->zone] / HR_SECOND_US, change->at_us / HR_SECOND_US);
  return status == HR_OK ? HR_OK : hr__reader_no_memory(collector->reader);
}

/* Adds a note on changes without a price. They are ignored, so the previous price still applies. It is unknown
   whether such a change means that the offer was withdrawn. */
static enum hr_status note_priceless(const struct collector *collector) {
  if (!collector->n_priceless) return HR_OK;
  enum hr_status status =
      hr_notes_add(collector->reader->notes, "%s: %" PRIu32 " changes of '%s' ignored: no spot price",
                   collector->reader->path, collector->n_priceless, selected_offer(collector->query));
  return status == HR_OK ? HR_OK : hr__reader_no_memory(collector->reader);
}

static enum hr_status note_bare(const struct collector *collector) {
  if (!collector->n_bare) return HR_OK;
  enum hr_status status =
      hr_notes_add(collector->reader->notes,
                   "%s: prices of '%s' have no instance type, so they exclude the cost of the machine "
                   "around the accelerators",
                   collector->reader->path, selected_offer(collector->query));
  return status == HR_OK ? HR_OK : hr__reader_no_memory(collector->reader);
}

/* Adds a note that states for which part of the run there are recorded prices. */
static enum hr_status note_ends(const struct collector *collector) {
  int64_t first_us = collector->changes[0].at_us, last_us = collector->changes[collector->count - 1].at_us;
  int64_t from_us = collector->query->from_s == HR_UNKNOWN_US ? first_us : collector->query->from_s * HR_SECOND_US;
  const char *path = collector->reader->path, *offer = selected_offer(collector->query);
  enum hr_status status;
  if (from_us < first_us)
    status = hr_notes_add(collector->reader->notes,
                          "%s: the run starts %.1f h before the first price of '%s', which applies until then", path,
                          (double)(first_us - from_us) / (3600.0 * (double)HR_SECOND_US), offer);
  else if (from_us > last_us)
    status = hr_notes_add(collector->reader->notes,
                          "%s: the run starts after the last price of '%s', which applies throughout", path, offer);
  else
    status =
        hr_notes_add(collector->reader->notes,
                     "%s: prices of '%s' are recorded for the first %.1f h of the run; the last one applies afterwards",
                     path, offer, (double)(last_us - from_us) / (3600.0 * (double)HR_SECOND_US));
  return status == HR_OK ? HR_OK : hr__reader_no_memory(collector->reader);
}

static void add_price(struct hr__spot_prices *prices, int64_t at_us, int64_t uusd_h) {
  if (at_us <= 0) { /* a change at or before the start of the run; the last such change sets the price at the start */
    prices->steps[0] = (struct hr_price_step){0, uusd_h};
    prices->n_steps = 1;
    return;
  }
  if (prices->n_steps && prices->steps[prices->n_steps - 1].uusd_h == uusd_h) return;
  if (prices->n_steps && prices->steps[prices->n_steps - 1].at_us == at_us) prices->n_steps--;
  struct hr_price_step step = {prices->n_steps ? at_us : 0, uusd_h};
  prices->steps[prices->n_steps++] = step;
}

/* The current price of each zone, and the time at which it was last recorded. */
struct board {
  /* [zones.count] each. Before the first price of a zone, `price` is HR_NEVER_US and `seen_us` is HR_UNKNOWN_US. */
  int64_t *price, *seen_us;
};

static enum hr_status fold_changes(const struct collector *collector, struct board board,
                                   struct hr__spot_prices *prices) {
  uint32_t n_zones = collector->zones.count, n_gaps = 0;
  int64_t from_s = collector->query->from_s;
  int64_t from_us = from_s == HR_UNKNOWN_US ? collector->changes[0].at_us : from_s * HR_SECOND_US;
  for (uint32_t i = 0; i < n_zones; i++) {
    board.price[i] = HR_NEVER_US;
    board.seen_us[i] = HR_UNKNOWN_US;
  }
  for (uint32_t i = 0; i < collector->count; i++) {
    const struct price_change *change = &collector->changes[i];
    enum hr_status status = note_gap(collector, board.seen_us, change, from_us, &n_gaps);
    if (status != HR_OK) return status;
    board.seen_us[change->zone] = change->at_us;
    board.price[change->zone] = change->uusd_h;
    add_price(prices, change->at_us - from_us, lowest(board.price, n_zones));
  }
  return HR_OK;
}

static enum hr_status fold_prices(const struct collector *collector, struct hr__spot_prices *prices) {
  struct board board = {malloc(collector->zones.count * sizeof *board.price),
                        malloc(collector->zones.count * sizeof *board.seen_us)};
  prices->steps = calloc((size_t)collector->count + 1, sizeof *prices->steps);
  enum hr_status status = HR_NO_MEMORY;
  if (board.price && board.seen_us && prices->steps)
    status = fold_changes(collector, board, prices);
  else
    hr__reader_no_memory(collector->reader);
  free(board.price);
  free(board.seen_us);
  return status;
}

enum hr_status hr__spot_prices_read(const char *path, const struct hr__spot_price_query *query,
                                    struct hr__spot_prices *prices, struct hr_notes *notes, struct hr_error *error) {
  struct hr__reader reader = {.path = path, .notes = notes, .error = error};
  struct collector collector = {.reader = &reader, .query = query};
  *prices = (struct hr__spot_prices){0};
  enum hr_status status = hr__input_open(path, &reader.input, error);
  if (status == HR_OK) status = collect(&collector);
  if (status == HR_OK) status = check_found(&collector);
  if (status == HR_OK && collector.count == 0)
    status = hr_fail(error, HR_BAD_INPUT, "%s: '%s' has no spot price in the selected region and zones", path,
                     selected_offer(query));
  if (status == HR_OK) {
    qsort(collector.changes, collector.count, sizeof *collector.changes, by_time);
    status = fold_prices(&collector, prices);
    if (status == HR_OK) status = note_priceless(&collector);
    if (status == HR_OK) status = note_bare(&collector);
    if (status == HR_OK) status = note_ends(&collector);
  }
  hr__input_close(reader.input);
  hr__names_finish(&collector.offers);
  hr__names_finish(&collector.regions);
  hr__names_finish(&collector.zones);
  free(collector.changes);
  if (status != HR_OK) {
    free(prices->steps);
    *prices = (struct hr__spot_prices){0};
  }
  return status;
}
