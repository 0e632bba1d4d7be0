/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The geometry of MIG instances on one GPU, and the names of profiles and layouts.
 *
 * The start of an instance is its first memory slice. Memory slices are bits of an integer, so a few shifts find
 * sequences of free slices and the possible starts of a profile.
 *
 * The room for a profile is the number of further instances of this profile that fit on the GPU. The best start for an
 * instance is the one that leaves the most room for the profiles that jobs use. To compare starts, the rooms for these
 * profiles are combined into one integer with four bits for each profile. The largest profile has the highest bits. The
 * best start is the one that leaves the greatest integer. Large profiles have priority because they have few starts.
 */

#include "headroom/mig.h"

#include "headroom/cluster.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ROOM_BITS = 4 };
_Static_assert(HR_MIG_PROFILES *ROOM_BITS <= 64 && HR_MIG_SLICES < 1 << ROOM_BITS, "an outlook is one number");
_Static_assert(sizeof(struct hr_mig_gpu) <= 16, "a state is copied to try something");

/* ---- Types ---- */

/* Compares profiles for sorting, the largest first. Ties are resolved by name, so the result does not depend on the
   order of the input. */
static int compare_profiles(const void *left, const void *right) {
  const struct hr_mig_profile *a = left, *b = right;
  if (a->memory_slices != b->memory_slices) return b->memory_slices - a->memory_slices;
  if (a->compute_slices != b->compute_slices) return b->compute_slices - a->compute_slices;
  if (a->media != b->media) return b->media - a->media;
  return strcmp(a->name, b->name);
}

static uint8_t larger(uint8_t a, uint8_t b) {
  return a > b ? a : b;
}

void hr_mig_type_init(struct hr_mig_type *type, const char *gpu, struct hr_mig_profile *profiles, uint32_t n_profiles) {
  qsort(profiles, n_profiles, sizeof *profiles, compare_profiles);
  *type = (struct hr_mig_type){.gpu = gpu, .profiles = profiles, .n_profiles = (uint8_t)n_profiles};
  for (uint32_t i = 0; i < n_profiles; i++) {
    const struct hr_mig_profile *profile = &profiles[i];
    for (uint32_t start = 0; start < HR_MIG_SLICES; start++)
      if (profile->starts >> start & 1)
        type->memory_slices = larger(type->memory_slices, (uint8_t)(start + profile->memory_slices));
    type->compute_slices = larger(type->compute_slices, profile->compute_slices);
  }
}

/* ---- One GPU ---- */

/* Returns the memory slices of an instance, as a set. */
static uint32_t slices_of(const struct hr_mig_profile *profile, uint32_t start) {
  return ((1U << profile->memory_slices) - 1) << start;
}

static uint32_t count_of(const struct hr_mig_gpu *gpu, uint32_t profile) {
  uint32_t count = 0;
  for (uint32_t start = 0; start < HR_MIG_SLICES; start++) count += gpu->at[start] == profile + 1;
  return count;
}

uint32_t hr_mig_starts(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile) {
  const struct hr_mig_profile *wanted = &type->profiles[profile];
  if (gpu->compute_used + wanted->compute_slices > type->compute_slices) return 0;
  if (wanted->media && gpu->has_media) return 0;
  if (count_of(gpu, profile) >= wanted->max_instances) return 0;
  uint32_t free = ~(uint32_t)gpu->occupied & ((1U << type->memory_slices) - 1), runs = free;
  for (uint32_t i = 1; i < wanted->memory_slices; i++) runs &= free >> i;
  return wanted->starts & runs;
}

/* Counts how many instances fit if each instance begins at the lowest possible start. No other selection of starts has
   room for more instances, because all instances of a profile have the same length. */
uint32_t hr_mig_room(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile) {
  const struct hr_mig_profile *wanted = &type->profiles[profile];
  uint32_t starts = hr_mig_starts(type, gpu, profile);
  if (!starts || wanted->media) return starts != 0;
  uint32_t max = wanted->max_instances - count_of(gpu, profile), apart = 0;
  uint32_t by_compute = (uint32_t)(type->compute_slices - gpu->compute_used) / wanted->compute_slices;
  for (; starts; apart++) starts &= ~slices_of(wanted, (uint32_t)__builtin_ctz(starts));
  if (by_compute < max) max = by_compute;
  return apart < max ? apart : max;
}

/* Returns the room for each profile of the set `wanted`, combined into one integer. To compare two states of a GPU, let
   p be the largest wanted profile for which their rooms differ. The state with more room for p has the greater
   integer. */
static uint64_t outlook(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t wanted) {
  uint64_t room = 0;
  for (uint32_t i = 0; i < type->n_profiles; i++)
    room = room << ROOM_BITS | (wanted >> i & 1 ? hr_mig_room(type, gpu, i) : 0);
  return room;
}

static void put(const struct hr_mig_type *type, struct hr_mig_gpu *gpu, uint32_t profile, uint32_t start) {
  const struct hr_mig_profile *instance = &type->profiles[profile];
  gpu->at[start] = (uint8_t)(profile + 1);
  gpu->occupied = (uint8_t)(gpu->occupied | slices_of(instance, start));
  gpu->compute_used = (uint8_t)(gpu->compute_used + instance->compute_slices);
  gpu->has_media = gpu->has_media || instance->media;
}

uint32_t hr_mig_best_start(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, uint32_t profile,
                           uint32_t wanted) {
  uint32_t best = HR_NONE;
  uint64_t best_room = 0;
  for (uint32_t starts = hr_mig_starts(type, gpu, profile); starts; starts &= starts - 1) {
    struct hr_mig_gpu after = *gpu;
    uint32_t start = (uint32_t)__builtin_ctz(starts);
    put(type, &after, profile, start);
    uint64_t room = outlook(type, &after, wanted);
    if (best != HR_NONE && room <= best_room) continue;
    best = start;
    best_room = room;
  }
  return best;
}

bool hr_mig_create(const struct hr_mig_type *type, struct hr_mig_gpu *gpu, uint32_t profile, uint32_t start) {
  if (start >= HR_MIG_SLICES || !(hr_mig_starts(type, gpu, profile) >> start & 1)) return false;
  put(type, gpu, profile, start);
  return true;
}

bool hr_mig_destroy(const struct hr_mig_type *type, struct hr_mig_gpu *gpu, uint32_t start) {
  uint32_t profile = hr_mig_profile_at(gpu, start);
  if (profile == HR_NONE) return false;
  const struct hr_mig_profile *instance = &type->profiles[profile];
  gpu->at[start] = 0;
  gpu->occupied = (uint8_t)(gpu->occupied & ~slices_of(instance, start));
  gpu->compute_used = (uint8_t)(gpu->compute_used - instance->compute_slices);
  if (instance->media) gpu->has_media = false;
  return true;
}

const char *hr_mig_text(const struct hr_mig_type *type, const struct hr_mig_gpu *gpu, char *text, size_t size) {
  size_t used = 0;
  if (size) text[0] = '\0';
  for (uint32_t start = 0; start < HR_MIG_SLICES && used < size; start++) {
    uint32_t profile = hr_mig_profile_at(gpu, start);
    if (profile == HR_NONE) continue;
    used += (size_t)snprintf(text + used, size - used, "%s%s@%u", used ? " " : "", type->profiles[profile].name,
                             (unsigned)start);
  }
  return text;
}

/* ---- Profile names: as in nvidia-smi and Kubernetes ---- */

/* Returns the profile that has `compute_slices` compute slices and, of these profiles, the least memory. If `media` is
   true, the profile must have media engines; if it is false, it must have none. Returns HR_NONE if no such profile
   exists. */
static uint32_t profile_with(const struct hr_mig_type *type, uint32_t compute_slices, bool media) {
  for (uint32_t i = type->n_profiles; i-- > 0;)
    if (type->profiles[i].compute_slices == compute_slices && type->profiles[i].media == media) return i;
  return HR_NONE;
}

/* Converts a resource name such as "nvidia.com/mig-1g.10gb.me" to a profile name such as "1g.10gb+me". Returns false if
   the text is longer than any name. */
static bool unwrap(const char *text, char name[HR_MIG_NAME_BYTES]) {
  static const char *const wraps[] = {"nvidia.com/", "mig-"};
  for (size_t i = 0; i < sizeof wraps / sizeof *wraps; i++)
    if (strncasecmp(text, wraps[i], strlen(wraps[i])) == 0) text += strlen(wraps[i]);
  size_t length = strlen(text);
  if (length >= HR_MIG_NAME_BYTES) return false;
  memcpy(name, text, length + 1);
  if (length > 3 && strcasecmp(name + length - 3, ".me") == 0) name[length - 3] = '+';
  return true;
}

static uint32_t find_profile(const struct hr_mig_type *type, const char *text) {
  char name[HR_MIG_NAME_BYTES], *end;
  if (!unwrap(text, name)) return HR_NONE;
  for (uint32_t i = 0; i < type->n_profiles; i++)
    if (strcasecmp(type->profiles[i].name, name) == 0) return i;
  if (!isdigit((unsigned char)name[0])) return HR_NONE;
  unsigned long slices = strtoul(name, &end, 10);
  bool media = strcasecmp(end, "g+me") == 0;
  bool is_short = media || strcasecmp(end, "g") == 0;
  return is_short && slices <= HR_MIG_SLICES ? profile_with(type, (uint32_t)slices, media) : HR_NONE;
}

/* Writes names as a list, such as "a, b, c". */
static void list_names(const char *const *names, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; names[i] && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", names[i]);
}

static enum hr_status fail_nearest(const struct hr_mig_type *type, const char *what, const char *text,
                                   const char *nearest, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT, "%s '%.60s' is unknown for %.40s; did you mean '%s'?", what, text, type->gpu,
                 nearest);
}

static enum hr_status fail_unknown(const struct hr_mig_type *type, const char *what, const char *text,
                                   const char *const *names, struct hr_error *error) {
  char list[600];
  const char *nearest = hr_nearest_word(text, names);
  if (nearest) return fail_nearest(type, what, text, nearest, error);
  list_names(names, list, sizeof list);
  return hr_fail(error, HR_BAD_INPUT, "%s '%.60s' is unknown for %.40s; there are: %s", what, text, type->gpu, list);
}

/* Returns a suggestion for an unknown profile name. Only profiles with names that begin with the same number of compute
   slices, such as "3g.", are considered. The suggestion is the profile with the most similar name. If no name is
   similar, it is the smallest of the considered profiles. Returns NULL if no name begins with this number. */
static const char *nearest_of_its_size(const struct hr_mig_type *type, const char *text) {
  const char *names[HR_MIG_PROFILES + 1] = {NULL};
  size_t count = 0;
  for (uint32_t i = type->n_profiles; i-- > 0;)
    if (strlen(text) > 3 && strncasecmp(type->profiles[i].name, text, 3) == 0) names[count++] = type->profiles[i].name;
  const char *nearest = hr_nearest_word(text, names);
  return nearest ? nearest : names[0];
}

enum hr_status hr_mig_profile_parse(const struct hr_mig_type *type, const char *text, uint32_t *profile,
                                    struct hr_error *error) {
  const char *names[HR_MIG_PROFILES + 1] = {NULL}, *near = nearest_of_its_size(type, text);
  *profile = find_profile(type, text);
  if (*profile != HR_NONE) return HR_OK;
  if (near) return fail_nearest(type, "MIG profile", text, near, error);
  for (uint32_t i = 0; i < type->n_profiles; i++) names[i] = type->profiles[i].name;
  return fail_unknown(type, "MIG profile", text, names, error);
}

/* ---- Placing several instances ---- */

static bool place_rest(const struct hr_mig_type *type, uint8_t left[], struct hr_mig_gpu *gpu);

static bool place_one(const struct hr_mig_type *type, uint8_t left[], struct hr_mig_gpu *gpu, uint32_t profile,
                      uint32_t start) {
  struct hr_mig_gpu before = *gpu;
  if (!hr_mig_create(type, gpu, profile, start)) return false;
  left[profile]--;
  if (place_rest(type, left, gpu)) return true;
  left[profile]++;
  *gpu = before;
  return false;
}

/* Places all remaining instances, by backtracking. The largest instance is placed first, because it has the fewest
   possible starts. */
static bool place_rest(const struct hr_mig_type *type, uint8_t left[], struct hr_mig_gpu *gpu) {
  uint32_t profile = 0;
  while (profile < type->n_profiles && !left[profile]) profile++;
  if (profile == type->n_profiles) return true;
  uint32_t best = hr_mig_best_start(type, gpu, profile, HR_MIG_ALL);
  if (best == HR_NONE) return false;
  if (place_one(type, left, gpu, profile, best)) return true;
  for (uint32_t start = 0; start < HR_MIG_SLICES; start++)
    if (start != best && place_one(type, left, gpu, profile, start)) return true;
  return false;
}

struct mig_demand {
  uint32_t instances, compute, memory, media;
};

static struct mig_demand demand_of(const struct hr_mig_type *type, const uint8_t count[]) {
  struct mig_demand demand = {0};
  for (uint32_t i = 0; i < type->n_profiles; i++) {
    demand.instances += count[i];
    demand.compute += (uint32_t)count[i] * type->profiles[i].compute_slices;
    demand.memory += (uint32_t)count[i] * type->profiles[i].memory_slices;
    if (type->profiles[i].media) demand.media += count[i];
  }
  return demand;
}

/* Places `count[p]` instances of each profile p on an empty GPU. Returns false if no arrangement has room for them. */
static bool place(const struct hr_mig_type *type, const uint8_t count[], struct hr_mig_gpu *gpu) {
  struct mig_demand demand = demand_of(type, count);
  uint8_t left[HR_MIG_PROFILES];
  *gpu = (struct hr_mig_gpu){0};
  if (demand.compute > type->compute_slices || demand.memory > type->memory_slices) return false;
  memcpy(left, count, type->n_profiles * sizeof *left);
  return place_rest(type, left, gpu);
}

/* ---- Layouts by rule ---- */

static void count_balanced(const struct hr_mig_type *type, uint8_t count[]) {
  for (uint32_t left = type->compute_slices; left > 0;) {
    uint32_t slices = left > 1 ? left / 2 : 1, profile;
    while ((profile = profile_with(type, slices, false)) == HR_NONE)
      if (--slices == 0) return;
    count[profile]++;
    left -= slices;
  }
}

/* Returns the profile of Volcano's group with index `number`, or HR_NONE if no such group exists. */
static uint32_t profile_of_group(const struct hr_mig_type *type, uint32_t number) {
  for (uint32_t slices = 1; slices <= type->compute_slices; slices++) {
    if (slices > type->compute_slices / 2U && slices < type->compute_slices) continue;
    uint32_t profile = profile_with(type, slices, false);
    if (profile != HR_NONE && number-- == 0) return profile;
  }
  return HR_NONE;
}

/* Returns the smallest profile without media engines. Profiles are sorted from the largest to the smallest. */
static uint32_t smallest_plain(const struct hr_mig_type *type) {
  uint32_t profile = type->n_profiles;
  while (profile-- > 0 && type->profiles[profile].media) continue;
  return profile;
}

static void fill_with(const struct hr_mig_type *type, uint32_t profile, struct hr_mig_gpu *gpu) {
  for (uint32_t start; (start = hr_mig_best_start(type, gpu, profile, HR_MIG_ALL)) != HR_NONE;)
    hr_mig_create(type, gpu, profile, start);
}

bool hr_mig_group(const struct hr_mig_type *type, uint32_t number, struct hr_mig_gpu *gpu) {
  uint32_t profile = profile_of_group(type, number);
  *gpu = (struct hr_mig_gpu){0};
  if (profile == HR_NONE) return false;
  fill_with(type, profile, gpu);
  fill_with(type, smallest_plain(type), gpu);
  return true;
}

/* ---- Layouts by name: as in mig-parted and Volcano ---- */

static bool parse_group(const char *text, uint32_t *number) {
  char *end;
  if (strncasecmp(text, "group", 5) != 0 || !isdigit((unsigned char)text[5])) return false;
  unsigned long group = strtoul(text + 5, &end, 10);
  *number = (uint32_t)group - 1;
  return !*end && group >= 1 && group <= HR_MIG_SLICES;
}

static enum hr_status fail_name(const struct hr_mig_type *type, const char *text, struct hr_error *error) {
  enum { OTHERS = 2 };
  char all[HR_MIG_PROFILES][HR_MIG_NAME_BYTES + 4], group[HR_MIG_SLICES][16];
  const char *names[OTHERS + HR_MIG_PROFILES + HR_MIG_SLICES + 1] = {"all-balanced", "all-enabled"};
  size_t n_names = OTHERS;
  for (uint32_t i = 0; i < type->n_profiles; i++, n_names++) {
    snprintf(all[i], sizeof all[i], "all-%.*s", HR_MIG_NAME_BYTES - 1, type->profiles[i].name);
    names[n_names] = all[i];
  }
  for (uint32_t i = 0; profile_of_group(type, i) != HR_NONE; i++, n_names++) {
    snprintf(group[i], sizeof group[i], "group%u", (unsigned)i + 1);
    names[n_names] = group[i];
  }
  return fail_unknown(type, "MIG layout", text, names, error);
}

/* The name of a layout is a list of elements that are separated by commas, such as "3g.40gb,2x1g.10gb". Adds the
   instances of one element to the counts by profile. */
static enum hr_status add_item(const struct hr_mig_type *type, const char *item, uint8_t count[],
                               struct hr_error *error) {
  char *behind;
  uint32_t profile;
  unsigned long times = strtoul(item, &behind, 10);
  bool repeated = behind != item && (*behind == 'x' || *behind == 'X');
  if (!repeated) times = 1;
  if (times < 1 || times > HR_MIG_SLICES)
    return hr_fail(error, HR_BAD_INPUT, "MIG layout: '%.60s' is not 1 to %d times a profile", item, HR_MIG_SLICES);
  if (repeated) item = behind + 1;
  enum hr_status status = hr_mig_profile_parse(type, item, &profile, error);
  if (status != HR_OK) return status;
  if (count[profile] + times > HR_MIG_SLICES)
    return hr_fail(error, HR_BAD_INPUT, "MIG layout: more than %d of '%.60s' on one %.40s", HR_MIG_SLICES, item,
                   type->gpu);
  count[profile] = (uint8_t)(count[profile] + times);
  return HR_OK;
}

static enum hr_status count_items(const struct hr_mig_type *type, const char *text, uint8_t count[],
                                  struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (const char *at = text; status == HR_OK; at++) {
    char item[64];
    at += strspn(at, " ");
    size_t span = strcspn(at, ","), length = span;
    while (length && at[length - 1] == ' ') length--;
    if (!length) return hr_fail(error, HR_BAD_INPUT, "MIG layout '%.100s': a profile is missing", text);
    snprintf(item, sizeof item, "%.*s", (int)length, at);
    status = add_item(type, item, count, error);
    at += span;
    if (!*at) break;
  }
  return status;
}

static enum hr_status place_or_fail(const struct hr_mig_type *type, const char *text, const uint8_t count[],
                                    struct hr_mig_gpu *gpu, struct hr_error *error) {
  if (place(type, count, gpu)) return HR_OK;
  struct mig_demand demand = demand_of(type, count);
  *gpu = (struct hr_mig_gpu){0};
  if (demand.compute > type->compute_slices || demand.memory > type->memory_slices)
    return hr_fail(error, HR_BAD_INPUT,
                   "MIG layout '%.100s' does not fit one %.40s: it takes %u of %u compute slices and %u of %u memory "
                   "slices",
                   text, type->gpu, demand.compute, type->compute_slices, demand.memory, type->memory_slices);
  if (demand.media > 1)
    return hr_fail(error, HR_BAD_INPUT, "MIG layout '%.100s': at most one instance of a GPU has the media engines",
                   text);
  return hr_fail(
      error, HR_BAD_INPUT,
      "MIG layout '%.100s' does not fit one %.40s: there are enough slices, but not at the starts of the profiles",
      text, type->gpu);
}

enum hr_status hr_mig_layout(const struct hr_mig_type *type, const char *text, struct hr_mig_gpu *gpu,
                             struct hr_error *error) {
  uint8_t count[HR_MIG_PROFILES] = {0};
  uint32_t number;
  *gpu = (struct hr_mig_gpu){0};
  if (strcasecmp(text, "all-enabled") == 0) return HR_OK;
  if (strncasecmp(text, "group", 5) == 0)
    return parse_group(text, &number) && hr_mig_group(type, number, gpu) ? HR_OK : fail_name(type, text, error);
  if (strcasecmp(text, "all-balanced") == 0) {
    count_balanced(type, count);
    return place_or_fail(type, text, count, gpu, error);
  }
  if (strncasecmp(text, "all-", 4) == 0) {
    uint32_t profile = find_profile(type, text + 4);
    if (profile == HR_NONE) return fail_name(type, text, error);
    fill_with(type, profile, gpu);
    return HR_OK;
  }
  enum hr_status status = count_items(type, text, count, error);
  return status == HR_OK ? place_or_fail(type, text, count, gpu, error) : status;
}
