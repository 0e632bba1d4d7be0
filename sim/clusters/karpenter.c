/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The costs of Karpenter's disruptions, and its consolidation: nodes with pods that fit elsewhere are deleted, or
 * replaced together by one cheaper node. Candidates are sorted by savings per disruption, the highest value first.
 * Invariant: the pods of the removed nodes fit on the remaining nodes and on at most one new node. The new node costs
 * less than the removed nodes, except with `any_price`. Source: kubernetes-sigs/karpenter, pkg/utils/disruption and
 * pkg/controllers/disruption (balanced.go, consolidation.go, multinodeconsolidation.go, singlenodeconsolidation.go).
 *
 * Disruption budgets can have schedules. A schedule is a set of minutes. A budget with a schedule is active for its
 * duration after each minute of the schedule. All times are UTC. Invariant: a budget that cannot be read allows no
 * disruption. Sources: pkg/apis/v1/nodepool.go; github.com/robfig/cron, parser.go and spec.go.
 *
 * Provisioning determines which nodes are bought for pods that fit on no node.
 */

#include "base/containers.h"
#include "headroom/unstable/clusters.h"
#include "sim/clusters/node_autoscalers.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
  /* a single spot node is replaced by another spot node only if at least this number of cheaper types exist */
  HR__KARPENTER_SPOT_TYPES = 15,
  HR__KARPENTER_MAX_CANDIDATES = 100 /* maximum number of nodes of one command */
};

/* ---- Costs and scores ---------------------------------------------------------------------------------------- */

double hr__karpenter_eviction_cost(double priority, double deletion_cost) {
  const double cost = 1 + deletion_cost / 0x1p27 + priority / 0x1p25;
  return fmin(10, fmax(-10, cost));
}

struct hr__karpenter_score hr__karpenter_score(double savings, double disruption, struct hr__karpenter_totals pool,
                                               double k) {
  if (!(pool.cost > 0) || !(savings > 0)) return (struct hr__karpenter_score){false, 0};
  if (!(disruption > 0) || !(pool.disruption > 0)) return (struct hr__karpenter_score){true, (double)INFINITY};
  const double score = (savings / pool.cost) / (disruption / pool.disruption);
  return (struct hr__karpenter_score){score >= 1 / k, score};
}

struct hr__karpenter_score hr__karpenter_score_move(double savings, const struct hr__karpenter_part *parts,
                                                    uint32_t n_parts) {
  double cost = 0;
  for (uint32_t i = 0; i < n_parts; i++) cost += parts[i].cost;
  struct hr__karpenter_score lowest = {n_parts > 0, n_parts > 0 ? (double)INFINITY : 0};
  for (uint32_t i = 0; i < n_parts; i++) {
    const struct hr__karpenter_part *part = &parts[i];
    if (!part->is_balanced) continue;
    const double saved = cost > 0 && n_parts > 1 ? savings * (part->cost / cost) : savings;
    const struct hr__karpenter_score score = hr__karpenter_score(saved, part->disruption, part->pool, part->k);
    lowest.is_approved = lowest.is_approved && score.is_approved;
    lowest.score = fmin(lowest.score, score.score);
  }
  return lowest;
}

/* ---- Prices ---------------------------------------------------------------------------------------------- */

double hr__karpenter_node_price(const struct hr__karpenter_offering *offerings, uint32_t n_offerings, uint32_t zone,
                                bool is_spot) {
  double cheapest = (double)NAN;
  for (uint32_t i = 0; i < n_offerings; i++)
    if (offerings[i].is_spot == is_spot && (zone == HR__KARPENTER_ANY || offerings[i].zone == zone))
      cheapest = fmin(cheapest, offerings[i].price); // fmin ignores NAN
  return cheapest;
}

/* Returns the price of the most expensive available offering of a type, as spot or as on-demand; NAN: none. */
static double dearest(const struct hr__karpenter_world *world, uint32_t type, bool is_spot) {
  const struct hr__karpenter_type *row = &world->types[type];
  double price = (double)NAN;
  for (uint32_t i = row->first; i < row->first + row->n; i++) {
    const struct hr__karpenter_offering *offering = &world->offerings[i];
    if (offering->is_available && offering->is_spot == is_spot &&
        (world->zone == HR__KARPENTER_ANY || world->zone == offering->zone))
      price = fmax(price, offering->price);
  }
  return price;
}

/* Returns the highest price that a new node of a type may have: that of the most expensive offering that may be bought;
   NAN: none. If spot is allowed and offered, only spot offerings are considered. `*is_spot` becomes true in this
   case. */
static double worst_price(const struct hr__karpenter_world *world, uint32_t type, bool *is_spot) {
  const double spot = world->allows_spot ? dearest(world, type, true) : (double)NAN;
  *is_spot = !isnan(spot);
  if (*is_spot) return spot;
  return world->allows_on_demand ? dearest(world, type, false) : (double)NAN;
}

static double price_of(const struct hr__karpenter_world *world, uint32_t type) {
  bool is_spot;
  return worst_price(world, type, &is_spot);
}

/* ---- Order ----------------------------------------------------------------------------------------------- */

static double ratio(const struct hr__karpenter_world *world, uint32_t node) {
  return hr__karpenter_savings_ratio(world->nodes[node].price, world->nodes[node].disruption);
}

uint32_t hr__karpenter_order(const struct hr__karpenter_world *world) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < world->n_nodes; i++) {
    if (!world->nodes[i].is_candidate) continue;
    uint32_t at = n++;
    for (; at > 0 && ratio(world, world->order[at - 1]) < ratio(world, i); at--)
      world->order[at] = world->order[at - 1];
    world->order[at] = i;
  }
  return n;
}

/* ---- Where the pods go ----------------------------------------------------------------------------------- */

/* Returns what a pod requests on a node of a type. */
static const struct hr__node_amounts *request_of(const struct hr__karpenter_world *world, uint32_t pod, uint32_t type) {
  return world->by_type ? &world->by_type[(size_t)pod * world->n_types + type] : &world->pods[pod];
}

/* Places a pod on the first node with room that is not removed. Returns false if no such node exists. */
static bool place(const struct hr__karpenter_world *world, uint32_t pod) {
  for (uint32_t i = 0; i < world->n_nodes; i++) {
    const struct hr__node_amounts *request = request_of(world, pod, world->nodes[i].type);
    if (world->leaves[i] || !hr__amounts_fit(request, &world->free[i])) continue;
    hr__amounts_add(&world->free[i], request, -1);
    return true;
  }
  return false;
}

/* Simulates the removal of nodes order[first], ... Returns whether some of their pods need a new node. Writes the total
   requests of these pods to `left`: by type with `by_type`, otherwise one total. */
static bool simulate(const struct hr__karpenter_world *world, uint32_t first, uint32_t n_nodes,
                     struct hr__node_amounts *left) {
  const uint32_t n_left = world->by_type ? world->n_types : 1;
  bool is_left = false;
  for (uint32_t i = 0; i < n_left; i++) left[i] = (struct hr__node_amounts){0};
  for (uint32_t i = 0; i < world->n_nodes; i++) {
    world->leaves[i] = false;
    world->free[i] = world->nodes[i].free;
  }
  for (uint32_t i = 0; i < n_nodes; i++) world->leaves[world->order[first + i]] = true;
  for (uint32_t i = 0; i < n_nodes; i++) {
    const struct hr__karpenter_node *node = &world->nodes[world->order[first + i]];
    for (uint32_t k = node->first; k < node->first + node->n; k++) {
      if (place(world, k)) continue;
      for (uint32_t type = 0; type < n_left; type++) hr__amounts_add(&left[type], request_of(world, k, type), 1);
      is_left = true;
    }
  }
  return is_left;
}

/* ---- The replacement ------------------------------------------------------------------------------------- */

/* Keeps the types that cost less than a limit. Returns their number. */
static uint32_t keep_cheaper(const struct hr__karpenter_world *world, uint32_t n_sent, double limit) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_sent; i++)
    if (price_of(world, world->sent[i]) < limit) world->sent[n++] = world->sent[i];
  return n;
}

/* Lists the types with room for the pods that need a new node, the cheapest first. Returns their number. */
static uint32_t list_types(const struct hr__karpenter_world *world, const struct hr__node_amounts *left) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < world->n_types; i++) {
    const double price = price_of(world, i);
    if (isnan(price) || !hr__amounts_fit(&left[world->by_type ? i : 0], &world->types[i].size)) continue;
    uint32_t at = n++;
    for (; at > 0 && price_of(world, world->sent[at - 1]) > price; at--) world->sent[at] = world->sent[at - 1];
    world->sent[at] = i;
  }
  return n;
}

/* Returns a limit of the price: if nodes of a type of the replacement are also being removed, the replacement must be
   cheaper than the cheapest of these nodes. INFINITY: no limit. */
static double limit_of_same_type(const struct hr__karpenter_world *world, uint32_t first, uint32_t n_nodes,
                                 uint32_t n_sent) {
  double limit = (double)INFINITY;
  for (uint32_t i = 0; i < n_nodes; i++) {
    const struct hr__karpenter_node *node = &world->nodes[world->order[first + i]];
    for (uint32_t k = 0; k < n_sent; k++)
      if (world->sent[k] == node->type) limit = fmin(limit, node->price);
  }
  return limit;
}

/* Returns whether some type of the replacement would be bought as a spot node. */
static bool is_sent_as_spot(const struct hr__karpenter_world *world, uint32_t n_sent) {
  for (uint32_t i = 0; i < n_sent; i++) {
    bool is_spot;
    worst_price(world, world->sent[i], &is_spot);
    if (is_spot) return true;
  }
  return false;
}

/* The rules for replacing spot nodes by a spot node. Returns the number of types to send; 0: no replacement. */
static uint32_t limit_spot_types(const struct hr__karpenter_world *world, uint32_t n_nodes, uint32_t n_sent) {
  if (!world->spot_to_spot) return 0;
  if (n_nodes > 1) return n_sent;
  if (n_sent < HR__KARPENTER_SPOT_TYPES) return 0;
  const uint32_t most =
      world->min_types > HR__KARPENTER_SPOT_TYPES ? world->min_types : (uint32_t)HR__KARPENTER_SPOT_TYPES;
  return n_sent < most ? n_sent : most;
}

static struct hr__karpenter_command replace(const struct hr__karpenter_world *world, uint32_t first, uint32_t n_nodes,
                                            const struct hr__node_amounts *left) {
  const struct hr__karpenter_command nothing = {HR__KARPENTER_NOTHING, first, 0, 0, false};
  double cost = 0;
  bool all_spot = true;
  for (uint32_t i = 0; i < n_nodes; i++) {
    const struct hr__karpenter_node *node = &world->nodes[world->order[first + i]];
    cost += node->price;
    all_spot = all_spot && node->is_spot;
  }
  uint32_t n_sent = list_types(world, left);
  if (world->any_price)
    return n_sent ? (struct hr__karpenter_command){HR__KARPENTER_REPLACE, first, n_nodes, n_sent, false} : nothing;
  n_sent = keep_cheaper(world, n_sent, cost);
  if (n_nodes > 1) n_sent = keep_cheaper(world, n_sent, limit_of_same_type(world, first, n_nodes, n_sent));
  const bool is_spot = is_sent_as_spot(world, n_sent);
  if (all_spot && is_spot) n_sent = limit_spot_types(world, n_nodes, n_sent);
  if (n_sent == 0 || n_sent < world->min_types) return nothing;
  return (struct hr__karpenter_command){HR__KARPENTER_REPLACE, first, n_nodes, n_sent, is_spot};
}

struct hr__karpenter_command hr__karpenter_try(const struct hr__karpenter_world *world, uint32_t first,
                                               uint32_t n_nodes) {
  struct hr__node_amounts one, *left = world->by_type ? world->left : &one;
  if (!simulate(world, first, n_nodes, left))
    return (struct hr__karpenter_command){HR__KARPENTER_DELETE, first, n_nodes, 0, false};
  return replace(world, first, n_nodes, left);
}

struct hr__karpenter_command hr__karpenter_try_several(const struct hr__karpenter_world *world, uint32_t n_candidates) {
  struct hr__karpenter_command best = {HR__KARPENTER_NOTHING, 0, 0, 0, false};
  uint32_t low = 2, high = n_candidates < HR__KARPENTER_MAX_CANDIDATES ? n_candidates : HR__KARPENTER_MAX_CANDIDATES;
  while (low <= high) {
    const uint32_t middle = low + (high - low) / 2;
    const struct hr__karpenter_command command = hr__karpenter_try(world, 0, middle);
    if (command.action == HR__KARPENTER_NOTHING) {
      high = middle - 1;
    } else {
      best = command;
      low = middle + 1;
    }
  }
  /* the last try may have overwritten the types of the best command */
  return best.action == HR__KARPENTER_NOTHING ? best : hr__karpenter_try(world, 0, best.n_nodes);
}

struct hr__karpenter_command hr__karpenter_consolidate(const struct hr__karpenter_world *world) {
  const uint32_t n_candidates = hr__karpenter_order(world);
  struct hr__karpenter_command command = hr__karpenter_try_several(world, n_candidates);
  for (uint32_t i = 0; i < n_candidates && command.action == HR__KARPENTER_NOTHING; i++)
    command = hr__karpenter_try(world, i, 1);
  return command;
}

/* ---- Reading a schedule ---------------------------------------------------------------------------------- */

enum { DAY_S = 86400, HOUR_S = 3600, MINUTE_S = 60, MAX_DAYS = 366 * 9 };

struct cron_field {
  int first, last;
  const char *const *names; /* of first, first + 1, ...; NULL: none */
};

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                          "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

/* Reads a number or a name at `*at`, and moves `*at` to the character after it. */
static bool read_value(const char **at, const struct cron_field *field, int *value) {
  if (isdigit((unsigned char)**at)) {
    char *end;
    const long number = strtol(*at, &end, 10);
    *at = end;
    *value = number > 9999 ? 9999 : (int)number;
    return true;
  }
  for (int i = 0; field->names && i <= field->last - field->first; i++)
    if (strncasecmp(*at, field->names[i], 3) == 0 && !isalpha((unsigned char)(*at)[3])) {
      *at += 3;
      *value = field->first + i;
      return true;
    }
  return false;
}

/* Reads one range: star, value or value-value, with an optional /step. */
static bool read_range(const char **at, const struct cron_field *field, uint64_t *bits, bool *is_star) {
  int first = field->first, last = field->last, step = 1;
  bool is_single = false;
  if (**at == '*' || **at == '?') {
    ++*at;
    *is_star = true;
  } else {
    if (!read_value(at, field, &first)) return false;
    last = first;
    is_single = **at != '-';
    if (!is_single && (++*at, !read_value(at, field, &last))) return false;
  }
  if (**at == '/') {
    ++*at;
    if (!isdigit((unsigned char)**at) || !read_value(at, field, &step)) return false;
    if (is_single) last = field->last;
    if (step > 1) *is_star = false;
  }
  if (first < field->first || last > field->last || first > last || step < 1) return false;
  if (step > last) step = last + 1; /* only the first value; a larger step must not overflow */
  for (int i = first; i <= last; i += step) *bits |= UINT64_C(1) << i;
  return true;
}

/* Reads a list of ranges, up to a blank or the end. */
static bool read_field(const char **at, const struct cron_field *field, uint64_t *bits, bool *is_star) {
  *bits = 0;
  *is_star = false;
  while (**at == ' ' || **at == '\t') ++*at;
  do
    if (!read_range(at, field, bits, is_star)) return false;
  while (**at == ',' && ++*at);
  return **at == '\0' || **at == ' ' || **at == '\t';
}

/* Reads a Go duration, such as 1h30m. */
static bool read_duration(const char *text, int64_t *seconds) {
  double sum = 0;
  if (!*text) return false;
  while (*text) {
    char *end;
    const double number = strtod(text, &end);
    if (end == text) return false;
    const double unit = *end == 'h' ? HOUR_S : *end == 'm' && end[1] != 's' ? MINUTE_S : *end == 's' ? 1 : 0;
    if (unit <= 0) return false;
    sum += number * unit;
    text = end + 1;
  }
  *seconds = (int64_t)sum;
  return sum >= 1 && sum < 1e12;
}

static const char *expanded(const char *text) {
  static const char *const words[][2] = {
      {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
      {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(text, words[i][0]) == 0) return words[i][1];
  return text;
}

bool hr__cron_read(const char *text, struct hr__cron *cron) {
  static const struct cron_field minutes = {0, 59, NULL}, hours = {0, 23, NULL}, days = {1, 31, NULL},
                                 months = {1, 12, month_names}, weekdays = {0, 6, weekday_names};
  *cron = (struct hr__cron){0};
  if (strncmp(text, "@every ", 7) == 0) return read_duration(text + 7, &cron->every_s);
  const char *at = expanded(text);
  bool ignored;
  if (!read_field(&at, &minutes, &cron->minutes, &ignored) || !read_field(&at, &hours, &cron->hours, &ignored) ||
      !read_field(&at, &days, &cron->days, &cron->any_day) || !read_field(&at, &months, &cron->months, &ignored) ||
      !read_field(&at, &weekdays, &cron->weekdays, &cron->any_weekday))
    return false;
  while (*at == ' ' || *at == '\t') at++;
  return *at == '\0';
}

/* ---- Instants of a schedule ------------------------------------------------------------------------------ */

static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

/* Writes the month (1 to 12) and the day of the month of the date that is `days` days after 1970-01-01, in the
   proleptic Gregorian calendar. In the computation, years begin in March, so that the leap day is the last day of a
   year. */
static void date_of(int64_t days, int *month, int *day) {
  const int64_t since = days + 719468, era = floor_div(since, 146097), of_era = since - era * 146097;
  const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const int64_t of_year = of_era - (365 * year + year / 4 - year / 100), from_march = (5 * of_year + 2) / 153;
  *day = (int)(of_year - (153 * from_march + 2) / 5 + 1);
  *month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
}

static bool has_bit(uint64_t bits, int at) {
  return bits >> at & 1;
}

static bool has_day(const struct hr__cron *cron, int64_t days) {
  int month, day;
  date_of(days, &month, &day);
  if (!has_bit(cron->months, month)) return false;
  const int weekday = (int)(days + 4 - 7 * floor_div(days + 4, 7)); // 1970-01-01 was a Thursday
  const bool by_day = has_bit(cron->days, day), by_weekday = has_bit(cron->weekdays, weekday);
  return cron->any_day || cron->any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

/* Returns the first instant of the schedule from second `first` of a day; -1: none. */
static int64_t first_hit(const struct hr__cron *cron, int64_t first) {
  for (int64_t minute = (first + MINUTE_S - 1) / MINUTE_S; minute * MINUTE_S < DAY_S; minute++)
    if (has_bit(cron->hours, (int)(minute / 60)) && has_bit(cron->minutes, (int)(minute % 60)))
      return minute * MINUTE_S;
  return -1;
}

/* Returns the first instant of the schedule after `after_s`, or INT64_MAX if the schedule has none until the end of the
   day of `until_s`. */
static int64_t next_until(const struct hr__cron *cron, int64_t after_s, int64_t until_s) {
  const int64_t first = floor_div(after_s + 1, DAY_S);
  /* a schedule with any instant has one within MAX_DAYS */
  for (int64_t day = first; day <= first + MAX_DAYS && day * DAY_S <= until_s; day++) {
    if (!has_day(cron, day)) continue;
    const int64_t at = first_hit(cron, day == first ? after_s + 1 - day * DAY_S : 0);
    if (at >= 0) return day * DAY_S + at;
  }
  return INT64_MAX;
}

bool hr__cron_hits(const struct hr__cron *cron, int64_t after_s, int64_t until_s) {
  return (cron->every_s ? after_s + cron->every_s : next_until(cron, after_s, until_s)) <= until_s;
}

int64_t hr__cron_next(const struct hr__cron *cron, int64_t after_s) {
  return next_until(cron, after_s, INT64_MAX);
}

bool hr_disruption_schedule_is_valid(const char *schedule) {
  struct hr__cron cron;
  return hr__cron_read(schedule, &cron) && !cron.every_s; // not "@every", as in Karpenter
}

/* ---- Budgets --------------------------------------------------------------------------------------------- */

bool hr__karpenter_read_nodes(const char *text, struct hr__karpenter_budget *budget) {
  char *end;
  const long number = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
  if (number < 0 || number > INT32_MAX) return false;
  budget->is_percent = *end == '%';
  budget->nodes = number;
  return end[budget->is_percent] == '\0';
}

int64_t hr__karpenter_constant_until(const struct hr__karpenter_budget *budget, int64_t now_s) {
  if (budget->is_always || budget->is_wrong || budget->schedule.every_s) return INT64_MAX;
  if (!hr__karpenter_is_active(budget, now_s)) return hr__cron_next(&budget->schedule, now_s);
  return hr__cron_next(&budget->schedule, now_s - budget->duration_s) + budget->duration_s;
}

int64_t hr__karpenter_allowed(const struct hr__karpenter_budget *budget, int64_t pool_nodes, int64_t now_s) {
  if (budget->is_wrong) return 0;
  if (!hr__karpenter_is_active(budget, now_s)) return INT64_MAX;
  return budget->is_percent ? (budget->nodes * pool_nodes + 99) / 100 : budget->nodes;
}

int64_t hr__karpenter_allowed_for(const struct hr__karpenter_budget *budgets, uint32_t n_budgets,
                                  enum hr__karpenter_reason reason, int64_t pool_nodes, int64_t now_s) {
  int64_t least = INT64_MAX;
  for (uint32_t i = 0; i < n_budgets; i++) {
    if (budgets[i].reasons && !(budgets[i].reasons >> reason & 1)) continue;
    const int64_t allowed = hr__karpenter_allowed(&budgets[i], pool_nodes, now_s);
    if (allowed < least) least = allowed;
  }
  return least;
}

/* ---- Provisioning ----------------------------------------------------------------------------------- */

/*
 * The nodes that Karpenter buys for pods that fit on no node. The caller determines the order of the pods (in
 * Karpenter: by CPU, then by memory, the largest first). For a job with several pods, nodes of a single option are
 * bought, because all its pods must be in one pool. Karpenter itself has no jobs.
 *
 * Layout: for planned node i, `may` and `used` have a row of n_options elements: whether it may be bought as each
 * option, and what its pods request in that case. Invariant: a planned node has at least one option, and its pods fit
 * each of its options. Source: see the header.
 */

void hr__karpenter_plan_finish(struct hr__karpenter_plan *plan) {
  free(plan->nodes);
  free(plan->may);
  free(plan->used);
  free(plan->trial);
  free(plan->trial_pods);
  free(plan->trial_node);
}

/* Adds a planned node without options. */
static bool add_node(struct hr__karpenter_plan *plan, uint32_t node_pool) {
  if (plan->n_nodes == plan->capacity) {
    const uint32_t capacity = plan->capacity ? 2 * plan->capacity : 16;
    const size_t cells = (size_t)capacity * plan->n_options;
    plan->lacks_memory = capacity <= plan->capacity || !HR__ARRAY_RESIZE(plan->nodes, capacity) ||
                         !HR__ARRAY_RESIZE(plan->may, cells) || !HR__ARRAY_RESIZE(plan->used, cells);
    if (plan->lacks_memory) return false;
    plan->capacity = capacity;
  }
  const size_t row = (size_t)plan->n_nodes * plan->n_options;
  for (uint32_t i = 0; i < plan->n_options; i++) {
    plan->may[row + i] = false;
    plan->used[row + i] = (struct hr__node_amounts){{0}};
  }
  plan->nodes[plan->n_nodes++] = (struct hr__karpenter_planned){.node_pool = node_pool};
  return true;
}

static bool fits(const struct hr__node_amounts *used, const struct hr__node_amounts *request,
                 const struct hr__node_amounts *size) {
  struct hr__node_amounts sum = *used;
  hr__amounts_add(&sum, request, 1);
  return hr__amounts_fit(&sum, size);
}

/* Returns the number of planned nodes for which `option` is the only option. */
static int64_t only_in(const struct hr__karpenter_plan *plan, uint32_t option) {
  int64_t n = 0;
  for (uint32_t i = 0; i < plan->n_nodes; i++) {
    const bool *may = &plan->may[(size_t)i * plan->n_options];
    bool is_only = may[option];
    for (uint32_t k = 0; k < plan->n_options && is_only; k++) is_only = k == option || !may[k];
    n += is_only;
  }
  return n;
}

/* Returns how many nodes of an option may be planned. */
static int64_t room_of(const struct hr__karpenter_plan *plan, uint32_t option) {
  const struct hr__karpenter_option *self = &plan->options[option];
  const struct hr__karpenter_node_pool *pool = &plan->node_pools[self->node_pool];
  if (!self->is_available) return 0;
  int64_t room = self->room - only_in(plan, option);
  if (pool->nodes_left < room) room = pool->nodes_left;
  for (int k = 0; k < HR__N_AMOUNTS; k++)
    if (self->size.of[k] > 0 && pool->left.of[k] != INT64_MAX && pool->left.of[k] / self->size.of[k] < room)
      room = pool->left.of[k] / self->size.of[k];
  return room > 0 ? room : 0;
}

/* Counts the last planned node in the limits of its node pool. Each limit is reduced by the largest amount among the
   options of the node. */
static void count_node(struct hr__karpenter_plan *plan) {
  const bool *may = &plan->may[(size_t)(plan->n_nodes - 1) * plan->n_options];
  struct hr__karpenter_node_pool *pool = &plan->node_pools[plan->nodes[plan->n_nodes - 1].node_pool];
  if (pool->nodes_left != INT64_MAX) pool->nodes_left--;
  for (int k = 0; k < HR__N_AMOUNTS; k++) {
    int64_t largest = 0;
    for (uint32_t i = 0; i < plan->n_options; i++)
      if (may[i] && plan->options[i].size.of[k] > largest) largest = plan->options[i].size.of[k];
    if (pool->left.of[k] != INT64_MAX) pool->left.of[k] -= largest;
  }
}

/* Returns the node pool after `last` (HR_NONE: the first one), in the order of falling weight and then of the index;
   HR_NONE: none. */
static uint32_t next_pool(const struct hr__karpenter_plan *plan, uint32_t last) {
  uint32_t next = HR_NONE;
  for (uint32_t i = 0; i < plan->n_node_pools; i++) {
    const uint32_t weight = plan->node_pools[i].weight;
    if (last != HR_NONE) {
      const uint32_t before = plan->node_pools[last].weight;
      if (weight > before || (weight == before && i <= last)) continue;
    }
    if (next == HR_NONE || weight > plan->node_pools[next].weight) next = i;
  }
  return next;
}

/* ---- Provisioning: single pods ---------------------------------------------------------------------- */

static bool node_can_have(const struct hr__karpenter_plan *plan, uint32_t node, const struct hr__karpenter_pods *pods) {
  const size_t row = (size_t)node * plan->n_options;
  for (uint32_t i = 0; i < plan->n_options; i++)
    if (plan->may[row + i] && pods[i].count[0] > 0 &&
        fits(&plan->used[row + i], &pods[i].request[0], &plan->options[i].size))
      return true;
  return false;
}

static void add_to_node(struct hr__karpenter_plan *plan, uint32_t node, const struct hr__karpenter_pods *pods) {
  const size_t row = (size_t)node * plan->n_options;
  plan->nodes[node].n_pods++;
  for (uint32_t i = 0; i < plan->n_options; i++) {
    if (!plan->may[row + i]) continue;
    plan->may[row + i] =
        pods[i].count[0] > 0 && fits(&plan->used[row + i], &pods[i].request[0], &plan->options[i].size);
    if (plan->may[row + i]) hr__amounts_add(&plan->used[row + i], &pods[i].request[0], 1);
  }
}

bool hr__karpenter_place_pod(struct hr__karpenter_plan *plan, const struct hr__karpenter_pods *pods) {
  uint32_t best = HR_NONE;
  for (uint32_t i = 0; i < plan->n_nodes; i++)
    if ((best == HR_NONE || plan->nodes[i].n_pods < plan->nodes[best].n_pods) && node_can_have(plan, i, pods)) best = i;
  if (best != HR_NONE) {
    add_to_node(plan, best, pods);
    return true;
  }
  for (uint32_t pool = next_pool(plan, HR_NONE); pool != HR_NONE; pool = next_pool(plan, pool)) {
    bool any = false;
    if (!add_node(plan, pool)) return false;
    bool *may = &plan->may[(size_t)(plan->n_nodes - 1) * plan->n_options];
    for (uint32_t i = 0; i < plan->n_options; i++) {
      const struct hr__karpenter_option *option = &plan->options[i];
      may[i] = option->node_pool == pool && pods[i].count[0] > 0 &&
               hr__amounts_fit(&pods[i].request[0], &option->size) && room_of(plan, i) > 0;
      any = any || may[i];
    }
    if (any) {
      add_to_node(plan, plan->n_nodes - 1, pods);
      count_node(plan);
      return true;
    }
    plan->n_nodes--;
  }
  return false;
}

/* ---- Provisioning: jobs with several pods ----------------------------------------------------------- */

/* A trial placement of the pods of a job with one option. The entries of the scratch arrays are first the planned nodes
   that may be bought as this option, then new nodes. */
struct job_trial {
  uint32_t n, n_planned;
};

static bool add_trial(struct hr__karpenter_plan *plan, struct job_trial *trial, uint32_t node) {
  if (trial->n == plan->trial_capacity) {
    const uint32_t capacity = plan->trial_capacity ? 2 * plan->trial_capacity : 16;
    plan->lacks_memory = capacity <= plan->trial_capacity || !HR__ARRAY_RESIZE(plan->trial, capacity) ||
                         !HR__ARRAY_RESIZE(plan->trial_pods, capacity) || !HR__ARRAY_RESIZE(plan->trial_node, capacity);
    if (plan->lacks_memory) return false;
    plan->trial_capacity = capacity;
  }
  plan->trial[trial->n] = (struct hr__node_amounts){{0}};
  plan->trial_pods[trial->n] = 0;
  plan->trial_node[trial->n++] = node;
  return true;
}

/* Places one pod on the node with the fewest pods that has room, or on a new node. */
static bool try_pod(struct hr__karpenter_plan *plan, struct job_trial *trial, const struct hr__node_amounts *request,
                    uint32_t option, int64_t room) {
  const struct hr__node_amounts *size = &plan->options[option].size;
  uint32_t best = HR_NONE;
  for (uint32_t i = 0; i < trial->n; i++)
    if ((best == HR_NONE || plan->trial_pods[i] < plan->trial_pods[best]) && fits(&plan->trial[i], request, size))
      best = i;
  if (best == HR_NONE) {
    if (trial->n - trial->n_planned >= room || !hr__amounts_fit(request, size) || !add_trial(plan, trial, HR_NONE))
      return false;
    best = trial->n - 1;
  }
  hr__amounts_add(&plan->trial[best], request, 1);
  plan->trial_pods[best]++;
  return true;
}

/* Makes a trial placement of the pods of a job with one option. Returns the number of new nodes; INT64_MAX: the pods do
   not fit, or memory is exhausted. */
static int64_t try_job(struct hr__karpenter_plan *plan, struct job_trial *trial, const struct hr__karpenter_pods *pods,
                       uint32_t option) {
  const int64_t room = room_of(plan, option);
  *trial = (struct job_trial){0};
  for (uint32_t i = 0; i < plan->n_nodes; i++) {
    const size_t cell = (size_t)i * plan->n_options + option;
    if (!plan->may[cell]) continue;
    if (!add_trial(plan, trial, i)) return INT64_MAX;
    plan->trial[trial->n - 1] = plan->used[cell];
    plan->trial_pods[trial->n - 1] = plan->nodes[i].n_pods;
  }
  trial->n_planned = trial->n;
  for (int row = 0; row < 2; row++)
    for (uint32_t k = 0; k < pods->count[row]; k++)
      if (!try_pod(plan, trial, &pods->request[row], option, room)) return INT64_MAX;
  return trial->n - trial->n_planned;
}

/* Adds a trial placement to the plan: its nodes can then only be bought as this option. False: out of memory. */
static bool take_trial(struct hr__karpenter_plan *plan, const struct job_trial *trial, uint32_t option) {
  for (uint32_t i = 0; i < trial->n; i++) {
    const bool is_new = i >= trial->n_planned;
    if (is_new && !add_node(plan, plan->options[option].node_pool)) return false;
    const uint32_t node = is_new ? plan->n_nodes - 1 : plan->trial_node[i];
    if (!is_new && plan->trial_pods[i] == plan->nodes[node].n_pods) continue;
    const size_t row = (size_t)node * plan->n_options;
    for (uint32_t k = 0; k < plan->n_options; k++) plan->may[row + k] = k == option;
    plan->used[row + option] = plan->trial[i];
    plan->nodes[node].n_pods = plan->trial_pods[i];
    if (is_new) count_node(plan);
  }
  return true;
}

bool hr__karpenter_place_job(struct hr__karpenter_plan *plan, const struct hr__karpenter_pods *pods) {
  struct job_trial trial;
  for (uint32_t pool = next_pool(plan, HR_NONE); pool != HR_NONE; pool = next_pool(plan, pool)) {
    uint32_t best = HR_NONE;
    double least = (double)INFINITY;
    for (uint32_t i = 0; i < plan->n_options; i++) {
      if (plan->options[i].node_pool != pool || pods[i].count[0] == 0) continue;
      const int64_t n = try_job(plan, &trial, &pods[i], i);
      if (n == INT64_MAX || !((double)n * plan->options[i].price < least)) continue;
      least = (double)n * plan->options[i].price;
      best = i;
    }
    if (best == HR_NONE) continue;
    return try_job(plan, &trial, &pods[best], best) != INT64_MAX && take_trial(plan, &trial, best);
  }
  return false;
}

/* ---- Provisioning: launches ------------------------------------------------------------------------- */

uint32_t hr__karpenter_cheapest(const struct hr__karpenter_option *options, const bool *may, uint32_t n_options,
                                bool is_spot) {
  uint32_t best = HR_NONE;
  for (uint32_t i = 0; i < n_options; i++)
    if (may[i] && options[i].is_available && options[i].room > 0 && options[i].is_spot == is_spot &&
        (best == HR_NONE || options[i].price < options[best].price))
      best = i;
  return best;
}

bool hr__karpenter_buys_spot(const struct hr__karpenter_option *options, const bool *may, uint32_t n_options) {
  const uint32_t spot = hr__karpenter_cheapest(options, may, n_options, true);
  const uint32_t on_demand = hr__karpenter_cheapest(options, may, n_options, false);
  return spot != HR_NONE && (on_demand == HR_NONE || options[spot].price <= options[on_demand].price);
}
