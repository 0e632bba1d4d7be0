/* SPDX-License-Identifier: GPL-3.0-or-later */
/* After sacct(1), "AllocTRES", "ReqGRES", "ReqMem" and "Timelimit". GPUs stand in a list of TRES once in all and once
   for each type (`gres/gpu=4,gres/gpu:a100=4`): where the sum of types is told and the total is not, the sum is it. */

#include "traces/tres.h"

#include "traces/input.h"
#include "traces/numbers.h"

#include <string.h>

static struct hr_text without(struct hr_text text, size_t count) {
  return (struct hr_text){text.at + count, text.length - count};
}

static bool whole(struct hr_text text, uint64_t most, uint64_t *value) {
  const struct hr__number_rule rule = {1, most, true};
  return hr__number_parse(text, &rule, value) == HR__NUMBER_FINE;
}

/* ---- Memory and time -------------------------------------------------------------------------------- */

bool hr__slurm_mem_parse(struct hr_text text, uint64_t *mib, enum hr__mem_of *of) {
  static const struct {
    char unit;
    uint64_t kib;
  } units[] = {{'K', 1}, {'M', 1 << 10}, {'G', 1 << 20}, {'T', 1 << 30}, {'P', UINT64_C(1) << 40}};
  uint64_t kib = 1 << 10, total_kib = 0;
  *of = HR__MEM_OF_JOB;
  char last = text.length ? text.at[text.length - 1] : '\0';
  if (last == 'n' || last == 'c') {
    *of = last == 'n' ? HR__MEM_OF_NODE : HR__MEM_OF_CPU;
    text.length--;
  }
  for (size_t i = 0; text.length && i < sizeof units / sizeof *units; i++) {
    if (text.at[text.length - 1] != units[i].unit) continue;
    kib = units[i].kib;
    text.length--;
    break;
  }
  const struct hr__number_rule rule = {kib, UINT64_C(1) << 40, false};
  if (hr__number_parse(text, &rule, &total_kib) != HR__NUMBER_FINE) return false;
  *mib = (total_kib + 512) >> 10;
  return true;
}

/* Takes the whole number in front of `end`, or all of the text where `end` is not in it. */
static bool take_whole(struct hr_text *rest, char end, uint64_t *value) {
  const char *stop = memchr(rest->at, end, rest->length);
  struct hr_text digits = {rest->at, stop ? (size_t)(stop - rest->at) : rest->length};
  *rest = without(*rest, stop ? digits.length + 1 : digits.length);
  return whole(digits, 100000000, value);
}

bool hr__slurm_span_parse(struct hr_text text, int64_t *us) {
  uint64_t days = 0, part[3] = {0};
  size_t n = 0;
  bool has_days = text.length && memchr(text.at, '-', text.length);
  if (has_days && !take_whole(&text, '-', &days)) return false;
  while (text.length && n < 3)
    if (!take_whole(&text, ':', &part[n++])) return false;
  if (text.length || n == 0 || (n == 1 && !has_days)) return false;
  uint64_t hours = n == 3 || has_days ? part[0] : 0, minutes = n == 3 || has_days ? part[1] : part[0];
  uint64_t seconds = n == 3 ? part[2] : has_days ? 0 : part[1];
  uint64_t total_s = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
  if (total_s > (uint64_t)(HR_MAX_INPUT_US / HR_SECOND_US)) return false;
  *us = (int64_t)total_s * HR_SECOND_US;
  return true;
}

/* ---- Resources -------------------------------------------------------------------------------------- */

/* True when the type is new and found room. */
static bool add_type(struct hr__tres *tres, struct hr_text type) {
  size_t used = strlen(tres->types);
  if (used + type.length + 2 > sizeof tres->types) return false;
  if (used) {
    tres->mixed = true;
    tres->types[used++] = '|';
  }
  memcpy(tres->types + used, type.at, type.length);
  tres->types[used + type.length] = '\0';
  return true;
}

/* What follows "gpu": "=4", ":a100=4", ":4", ":a100:4", or nothing for one. */
static const char *take_gpus(struct hr__tres *tres, struct hr_text rest, uint64_t *typed) {
  const char *not_right = "not a list of resources with a count of GPUs, like gres/gpu:a100=4";
  const char *note = memchr(rest.at, '(', rest.length);
  if (note) rest.length = (size_t)(note - rest.at);
  size_t at = rest.length;
  while (at > 0 && rest.at[at - 1] != '=' && rest.at[at - 1] != ':') at--;
  uint64_t count = 1;
  bool counted = at > 0 && whole(without(rest, at), HR_MAX_GPUS, &count);
  if (at > 0 && !counted && rest.at[at - 1] == '=') return not_right;
  struct hr_text type = {rest.at, counted ? at - 1 : rest.length};
  if (type.length && *type.at != ':') return not_right;
  if (type.length > 1) {
    *typed += count;
    return add_type(tres, without(type, 1)) ? NULL : "a list of too many types of GPUs";
  }
  tres->gpus += count;
  tres->has_gpus = true;
  return NULL;
}

static const char *take_item(struct hr__tres *tres, struct hr_text item, uint64_t *typed) {
  enum hr__mem_of of;
  bool generic = hr__begins_with(item, "gres/") || hr__begins_with(item, "gres:");
  struct hr_text name = generic ? without(item, 5) : item, rest = name.length >= 3 ? without(name, 3) : name;
  if (hr__begins_with(name, "gpu") && (rest.length == 0 || *rest.at == '=' || *rest.at == ':'))
    return take_gpus(tres, rest, typed);
  if (hr__begins_with(name, "shard") || hr__begins_with(name, "mps")) {
    tres->has_shares = true;
    return NULL;
  }
  if (hr__begins_with(item, "cpu=")) {
    const struct hr__number_rule rule = {1000, UINT64_C(1) << 40, false};
    tres->has_cpus = hr__number_parse(without(item, 4), &rule, &tres->cpu_milli) == HR__NUMBER_FINE;
    return tres->has_cpus ? NULL : "not a list of resources with a count of CPUs, like cpu=4";
  }
  if (hr__begins_with(item, "mem=")) {
    tres->has_mem = hr__slurm_mem_parse(without(item, 4), &tres->mem_mib, &of) && of == HR__MEM_OF_JOB;
    return tres->has_mem ? NULL : "not a list of resources with an amount of memory, like mem=64G";
  }
  return NULL;
}

const char *hr__tres_parse(struct hr_text text, struct hr__tres *tres) {
  *tres = (struct hr__tres){0};
  uint64_t typed = 0;
  while (text.length) {
    const char *comma = memchr(text.at, ',', text.length);
    struct hr_text item = {text.at, comma ? (size_t)(comma - text.at) : text.length};
    const char *fault = take_item(tres, item, &typed);
    if (fault) return fault;
    text = without(text, comma ? item.length + 1 : item.length);
  }
  if (!tres->has_gpus && typed) tres->gpus = typed;
  tres->has_gpus = tres->has_gpus || typed;
  return tres->gpus > HR_MAX_GPUS || typed > HR_MAX_GPUS ? "more than 4000000 GPUs" : NULL;
}
