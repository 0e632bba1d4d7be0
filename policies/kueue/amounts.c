/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantities of Kubernetes, and arithmetic on lists of amounts. The lists are in ascending order of resources. Source:
   k8s.io/apimachinery/pkg/api/resource (quantity.go), pkg/resources/requests.go and pkg/util/admissionfairsharing of
   kubernetes-sigs/kueue. */

#include "policies/kueue/amounts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Quantities ---- */

/* A number: mantissa * 10^exponent. `huge`: the mantissa does not fit. */
struct quantity {
  uint64_t mantissa;
  int exponent;
  bool huge;
};

static const char *read_digits(const char *at, struct quantity *number, bool fraction) {
  for (; *at >= '0' && *at <= '9'; at++) {
    if (number->mantissa > (UINT64_MAX - 9) / 10) {
      if (!fraction) number->huge = true;
      continue;
    }
    number->mantissa = number->mantissa * 10 + (uint64_t)(*at - '0');
    if (fraction) number->exponent--;
  }
  return at;
}

/* Reads the suffix. `shift` is the power of two. Returns false if it is unknown. */
static bool read_suffix(const char *text, int *exponent, unsigned *shift) {
  static const char decimal[] = "numkMGTPE", binary[] = "KMGTPE";
  static const int powers[] = {-9, -6, -3, 3, 6, 9, 12, 15, 18};
  *shift = 0;
  if (!*text) return true;
  const char *found = strchr(binary, *text);
  if (text[1] == 'i' && !text[2] && found) {
    *shift = 10 * ((unsigned)(found - binary) + 1);
    return true;
  }
  found = strchr(decimal, *text);
  if (found && !text[1]) {
    *exponent += powers[found - decimal];
    return true;
  }
  if (*text != 'e' && *text != 'E') return false;
  char *end;
  long power = strtol(text + 1, &end, 10);
  if (end == text + 1 || *end || power < -100 || power > 100) return false;
  *exponent += (int)power;
  return true;
}

static uint64_t scale(struct quantity number, unsigned shift) {
  uint64_t value = number.mantissa;
  if (number.huge || (shift && value > UINT64_MAX >> shift)) return UINT64_MAX;
  value <<= shift;
  bool rest = false;
  for (; number.exponent > 0 && value; number.exponent--) {
    if (value > UINT64_MAX / 10) return UINT64_MAX;
    value *= 10;
  }
  for (; number.exponent < 0 && value; number.exponent++) {
    rest |= value % 10 != 0;
    value /= 10;
  }
  return value + rest;
}

bool hr__kueue_quantity(const char *text, bool thousandths, int64_t *value) {
  struct quantity number = {0};
  bool negative = *text == '-';
  const char *start = *text == '-' || *text == '+' ? text + 1 : text;
  const char *at = read_digits(start, &number, false);
  bool digits = at > start;
  if (*at == '.') {
    const char *fraction = at + 1;
    at = read_digits(fraction, &number, true);
    digits |= at > fraction;
  }
  unsigned shift;
  if (!digits || !read_suffix(at, &number.exponent, &shift)) return false;
  if (thousandths) number.exponent += 3;
  uint64_t size = scale(number, shift);
  if (negative)
    *value = size > (uint64_t)INT64_MAX ? INT64_MIN : -(int64_t)size;
  else
    *value = size > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)size;
  return true;
}

/* ---- Requests ---- */

static int64_t amount_of(const struct hr__kueue_amounts *amounts, uint32_t resource) {
  for (uint32_t i = 0; amounts && i < amounts->count; i++)
    if (amounts->items[i].resource == resource) return amounts->items[i].amount;
  return 0;
}

int64_t hr__kueue_count_in(const struct hr__kueue_amounts *requests, const struct hr__kueue_amounts *capacity,
                           uint32_t *limiting) {
  int64_t least = 0;
  uint32_t resource = HR_NONE;
  for (uint32_t i = 0; i < requests->count; i++) {
    int64_t request = requests->items[i].amount, room = amount_of(capacity, requests->items[i].resource);
    int64_t count = INT32_MAX;
    if (request != 0 && (request != -1 || room != INT64_MIN)) count = room / request;
    if (count > INT32_MAX) count = INT32_MAX;
    if (count < 0) count = 0;
    if (resource != HR_NONE && count >= least) continue;
    least = count;
    resource = requests->items[i].resource;
  }
  if (limiting) *limiting = resource;
  return least;
}

/* ---- Admission fair sharing ---- */

static double weighted(const struct hr__kueue_amounts *amounts, const double *weights, uint32_t cpu) {
  double sum = 0;
  for (uint32_t i = 0; amounts && i < amounts->count; i++) {
    double amount = (double)amounts->items[i].amount / (amounts->items[i].resource == cpu ? 1000.0 : 1.0);
    sum += weights[amounts->items[i].resource] * amount;
  }
  return sum;
}

double hr__kueue_local_usage(const struct hr__kueue_amounts *consumed, const struct hr__kueue_amounts *penalty,
                             const double *weights, double queue_weight, uint32_t cpu) {
  if (queue_weight <= 0) return INFINITY;
  return (weighted(consumed, weights, cpu) + weighted(penalty, weights, cpu)) / queue_weight;
}

double hr__kueue_decay_part(int64_t elapsed_us, int64_t half_life_us) {
  if (half_life_us <= 0) return 0;
  return 1 - pow(0.5, (double)elapsed_us / (double)half_life_us);
}

double hr__kueue_decayed(double old, double current, double part) {
  return old * (1 - part) + current * part;
}
