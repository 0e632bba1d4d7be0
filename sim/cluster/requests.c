/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The requirements of jobs: the GPU types that they name, the pools that they accept, and what their tasks request.
 *
 * Two numbers represent the requirements of a job. The accept class is the index of the set of pools that the job
 * accepts. The other number is the index of its request (struct hr_request): accept class, number of tasks, and the
 * resources of each task. Jobs with equal requirements have equal numbers, so policies can handle each distinct request
 * once instead of each job.
 *
 * Requests are numbered in the order of first appearance and found through a hash table. In clusters with MIG, a
 * request also has an array with one set of profiles for each pool. Any profile of the set suffices for the request.
 * Equal arrays are stored once.
 */

#include "sim/cluster/cluster.h"

#include "base/containers.h"
#include "base/text.h"
#include "headroom/policy.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- Names of GPU types ----------------------------------------------------------------------------- */

/*
 * Matches the GPU types that jobs request with the GPU types of pools, and suggests the most similar known name for an
 * unknown name.
 *
 * Names are compared by their keys. A key consists of the letters and digits of the name in lower case, without words
 * that do not distinguish types. At the start of a name, the vendor, the product line and Slurm's resource name are
 * omitted. At the end of a name, a count (":2") and "-SHARED" are omitted. The GPU operator adds "-SHARED" to the label
 * nvidia.com/gpu.product of shared GPUs. If the type of some pool equals the requested name, ignoring case, keys are
 * not compared: the name selects only pools of this type.
 */

/* ---- Names of GPU types: names of pools ------------------------------------------------------------- */

struct name {
  const char *at;
  size_t length;
};

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Removes `word` and the separators after it from the beginning of a name. Returns false and changes nothing if the
   name does not begin with this word or the rest would be empty. */
static bool cut_front(struct name *name, const char *word) {
  size_t length = strlen(word);
  if (name->length <= length || strncasecmp(name->at, word, length) != 0 || is_word(name->at[length])) return false;
  while (length < name->length && !is_word(name->at[length])) length++;
  if (length == name->length) return false;
  *name = (struct name){name->at + length, name->length - length};
  return true;
}

static void cut_vendor(struct name *name) {
  static const char *const words[] = {"gres", "gpu", "nvidia", "tesla", "geforce", "amd", "instinct", NULL};
  for (size_t i = 0; words[i];) i = cut_front(name, words[i]) ? 0 : i + 1;
}

/* Removes "-SHARED" and a count such as ":2" from the end of a name. */
static void cut_back(struct name *name) {
  static const char shared[] = "-shared";
  size_t digits = 0, suffix = sizeof shared - 1;
  while (digits < name->length && name->at[name->length - 1 - digits] >= '0' &&
         name->at[name->length - 1 - digits] <= '9')
    digits++;
  if (digits && digits + 1 < name->length && name->at[name->length - 1 - digits] == ':') name->length -= digits + 1;
  if (name->length > suffix && strncasecmp(name->at + name->length - suffix, shared, suffix) == 0)
    name->length -= suffix;
}

size_t hr__gpu_name_key(const char *name, size_t length, char key[HR__GPU_KEY_BYTES]) {
  struct name rest = {name, length};
  size_t used = 0;
  cut_back(&rest);
  cut_vendor(&rest);
  for (size_t i = 0; i < rest.length; i++) {
    char c = rest.at[i];
    if (!is_word(c)) continue;
    if (used + 1 == HR__GPU_KEY_BYTES) {
      used = 0;
      break;
    }
    key[used++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
  }
  key[used] = '\0';
  return used;
}

static bool same_key(const char *name, size_t length, const char *key) {
  char other[HR__GPU_KEY_BYTES];
  return hr__gpu_name_key(name, length, other) && strcmp(other, key) == 0;
}

/* Returns whether the type or another name of the pool has the key. */
static bool has_key(const struct hr_pool_spec *pool, const char *key) {
  const char *names = pool->gpu_names;
  if (!pool->gpu) return false;
  if (same_key(pool->gpu, strlen(pool->gpu), key)) return true;
  while (names && *names) {
    size_t length = strcspn(names, "|");
    if (same_key(names, length, key)) return true;
    names += length + (names[length] == '|');
  }
  return false;
}

static bool is_exactly(const struct hr_pool_spec *pool, const char *name, size_t length) {
  return pool->gpu && strlen(pool->gpu) == length && strncasecmp(pool->gpu, name, length) == 0;
}

/* Adds the pools that one name of a list selects. */
static void select_one(const struct hr_cluster_spec *cluster, const char *name, size_t length, uint8_t *set) {
  char key[HR__GPU_KEY_BYTES];
  bool exact = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    if (!is_exactly(&cluster->pools[i], name, length)) continue;
    set[i] = true;
    exact = true;
  }
  if (exact || !hr__gpu_name_key(name, length, key)) return;
  for (uint32_t i = 0; i < cluster->n_pools; i++) set[i] = set[i] || has_key(&cluster->pools[i], key);
}

void hr__gpu_names_select(const struct hr_cluster_spec *cluster, const char *list, uint8_t *set) {
  memset(set, false, cluster->n_pools);
  for (;;) {
    size_t length = strcspn(list, "|");
    select_one(cluster, list, length, set);
    if (!list[length]) return;
    list += length + 1;
  }
}

/* ---- Names of GPU types: misspelt names ------------------------------------------------------------- */

/* Two names are similar only if their keys begin with the same letters, because "A100" and "H100" differ by one letter
   but are different products. In comparisons, the letter O equals the digit 0, and the letters I and L equal 1, so
   "A10O" equals "A100". */

static void fold_digits(char *key) {
  for (; *key; key++)
    if (*key == 'o')
      *key = '0';
    else if (*key == 'i' || *key == 'l')
      *key = '1';
}

/* A name to compare. key: the key of the name. bytes: the length of the key. letters: the number of letters at the
   start of the key. model: the number of characters of the model at the start of the key. For "A100-80", the key is
   "a10080", `letters` is 1 and `model` is 4. */
struct spelling {
  char key[HR__GPU_KEY_BYTES];
  size_t bytes, letters, model;
};

/* The model consists of the letters at the beginning of the key and the digits after them, up to the next separator in
   the name or the next letter in the key. */
static struct spelling spell(const char *name, size_t length) {
  struct spelling spelt = {.bytes = hr__gpu_name_key(name, length, spelt.key)};
  struct name rest = {name, length};
  size_t digits = 0, at;
  fold_digits(spelt.key);
  spelt.letters = strspn(spelt.key, "abcdefghijklmnopqrstuvwxyz");
  cut_vendor(&rest);
  at = spelt.letters;
  while (at < rest.length && !is_word(rest.at[at])) at++;
  while (at + digits < rest.length && is_word(rest.at[at + digits])) digits++;
  size_t run = strspn(spelt.key + spelt.letters, "0123456789");
  spelt.model = spelt.letters + (digits < run ? digits : run);
  return spelt;
}

static bool is_same_model(const struct spelling *a, const struct spelling *b) {
  return a->model == b->model && strncmp(a->key, b->key, a->model) == 0;
}

/* Returns how much two names differ: the edit distance of their keys, plus SHORT_KEY if the models differ. Returns
   SIZE_MAX if the names are not similar. */
static size_t difference(const struct spelling *name, const struct spelling *known) {
  enum { TINY_KEY = 2, SHORT_KEY = 6 };
  size_t edits = hr__edit_distance(name->key, known->key);
  if (name->letters != known->letters || strncmp(name->key, known->key, name->letters) != 0) return SIZE_MAX;
  if (edits > (name->bytes <= TINY_KEY ? 0 : name->bytes <= SHORT_KEY ? 1 : 2)) return SIZE_MAX;
  return is_same_model(name, known) ? edits : edits + SHORT_KEY;
}

/* Returns whether the key of `name` begins with the key of `known` and both have the same model, such as "H100-SXM9"
   and "H100". */
static bool extends(const struct spelling *name, const struct spelling *known) {
  return known->bytes >= 2 && strncmp(name->key, known->key, known->bytes) == 0 && is_same_model(name, known);
}

static const char *nearest_of(const char *name, size_t length, const char *const *known, bool *same_model) {
  const struct spelling wanted = spell(name, length);
  const char *nearest = NULL, *longest = NULL;
  size_t smallest = SIZE_MAX, most = 0;
  *same_model = true;
  for (; wanted.bytes && *known; known++) {
    const struct spelling other = spell(*known, strlen(*known));
    size_t differs = other.bytes ? difference(&wanted, &other) : SIZE_MAX;
    if (differs < smallest) {
      smallest = differs;
      nearest = *known;
      *same_model = is_same_model(&wanted, &other);
    }
    if (other.bytes > most && extends(&wanted, &other)) {
      most = other.bytes;
      longest = *known;
    }
  }
  if (!longest || smallest <= 1) return nearest;
  *same_model = true;
  return longest;
}

/* Returns whether a key is that of a Grace superchip, such as GB200. The rest of the key, after the G, is the key of
   its GPU type. */
static bool is_superchip(const char *key) {
  return key[0] == 'g' && (key[1] == 'b' || key[1] == 'h') && key[2] >= '0' && key[2] <= '9';
}

const char *hr__gpu_name_nearest(const char *name, size_t length, const char *const *known, bool *same_model) {
  char key[HR__GPU_KEY_BYTES];
  const char *nearest = nearest_of(name, length, known, same_model);
  if (nearest || !hr__gpu_name_key(name, length, key) || !is_superchip(key)) return nearest;
  nearest = nearest_of(key + 1, strlen(key + 1), known, same_model);
  if (nearest) *same_model = false;
  return nearest;
}

/* ---- Accept classes --------------------------------------------------------------------------------- */

/*
 * Accept classes are the distinct sets of pools that jobs accept.
 *
 * Each of the following determines a set of pools: a list of GPU types, a list of regions, a job class, a row of the
 * table of speeds, a GPU memory size, and the part of a GPU that a job requests (a MIG profile, or no profile). Many
 * lists of a trace determine the same few sets, so equal sets are stored once. An accept class is the intersection of
 * six sets, one of each of these kinds. For jobs that must not use spot capacity, the spot pools are then removed.
 */

/* ---- Accept classes: lists -------------------------------------------------------------------------- */

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *a, size_t length, const char *b) {
  for (size_t i = 0; i < length; i++)
    if (!b[i] || lower(a[i]) != lower(b[i])) return false;
  return b[length] == '\0';
}

/* Returns whether `word` is an element of a list separated by '|'. Case is ignored. */
static bool list_has(const char *list, const char *word) {
  for (;;) {
    size_t length = strcspn(list, "|");
    if (same_word(list, length, word)) return true;
    if (!list[length]) return false;
    list += length + 1;
  }
}

/* ---- Accept classes: sets of pools ------------------------------------------------------------------ */

static bool sets_init(struct hr__pool_sets *sets, struct hr_arena *arena, uint32_t n_pools, size_t max_sets) {
  *sets = (struct hr__pool_sets){.row = hr_arena_alloc(arena, (max_sets + 1) * n_pools), .n_pools = n_pools};
  return sets->row;
}

/* Returns the memory for the next set. The caller writes the set to this memory and then calls sets_intern. */
static uint8_t *sets_draft(const struct hr__pool_sets *sets) {
  return sets->row + (size_t)sets->count * sets->n_pools;
}

/* Adds the set that the caller wrote to the memory returned by sets_draft, unless an equal set is stored already.
   Returns the index of the stored set. */
static uint32_t sets_intern(struct hr__pool_sets *sets) {
  const uint8_t *draft = sets_draft(sets);
  for (uint32_t i = 0; i < sets->count; i++)
    if (memcmp(sets->row + (size_t)i * sets->n_pools, draft, sets->n_pools) == 0) return i;
  return sets->count++;
}

static bool sets_have(const struct hr__pool_sets *sets, uint32_t set, uint32_t pool) {
  return sets->row[(size_t)set * sets->n_pools + pool];
}

/* Writes the set of pools that a value of a property selects to `set` ([n_pools], 1 or 0). */
typedef void select_pools(const struct hr__accepts *accepts, const struct hr_cluster_spec *cluster, uint32_t value,
                          uint8_t *set);

/* Selects the pools that serve jobs of a class. */
static void select_for_class(const struct hr__accepts *accepts, const struct hr_cluster_spec *cluster, uint32_t class_,
                             uint8_t *set) {
  (void)accepts;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    set[i] = !cluster->pools[i].classes || cluster->pools[i].classes >> class_ & 1;
}

static void select_regions(const struct hr__accepts *accepts, const struct hr_cluster_spec *cluster, uint32_t list,
                           uint8_t *set) {
  const char *regions = accepts->trace->region_lists.text[list];
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    set[i] = cluster->pools[i].region && list_has(regions, cluster->pools[i].region);
}

static void select_gpus(const struct hr__accepts *accepts, const struct hr_cluster_spec *cluster, uint32_t list,
                        uint8_t *set) {
  hr__gpu_names_select(cluster, accepts->trace->gpu_type_lists.text[list], set);
}

/* Selects the pools in which the speed of a row of the table of speeds is above 0. */
static void select_with_speed(const struct hr__accepts *accepts, const struct hr_cluster_spec *cluster, uint32_t row,
                              uint8_t *set) {
  for (uint32_t i = 0; i < cluster->n_pools; i++) set[i] = hr__speed_of_row(accepts->speeds->table, row, i) > 0;
}

/* Returns whether the pool uses MIG and its GPU type has the profile. */
static bool has_profile(const struct hr_pool_spec *pool, const char *profile) {
  uint32_t number;
  return pool->mig && hr_mig_profile_parse(&pool->mig->type, profile, &number, NULL) == HR_OK;
}

/* Without mig_fallback, jobs that name no profile accept only pools without MIG, and jobs that name a profile accept
   only pools that have this profile. With mig_fallback, all pools are in all sets. */
static void select_with_part(const struct hr__accepts *accepts, const struct hr_cluster_spec *cluster, uint32_t part,
                             uint8_t *set) {
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    bool has = part == 0 ? !pool->mig : has_profile(pool, accepts->trace->mig_profiles.text[part - 1]);
    set[i] = has || cluster->mig_fallback;
  }
}

/* Adds a memory size to accepts->memory_mib, which is ascending, unless the size is in it already. */
static void add_memory(struct hr__accepts *accepts, uint32_t memory_mib) {
  uint32_t at = accepts->n_memories;
  while (at > 0 && accepts->memory_mib[at - 1] >= memory_mib) at--;
  if (at < accepts->n_memories && accepts->memory_mib[at] == memory_mib) return;
  for (uint32_t i = accepts->n_memories++; i > at; i--) accepts->memory_mib[i] = accepts->memory_mib[i - 1];
  accepts->memory_mib[at] = memory_mib;
}

/* Selects the pools with a GPU memory larger than the `below` smallest distinct sizes of all pools. Pools with unknown
   GPU memory are in each of these sets. */
static void select_with_memory(const struct hr__accepts *accepts, const struct hr_cluster_spec *cluster, uint32_t below,
                               uint8_t *set) {
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    uint32_t memory_mib = cluster->pools[i].gpu_mem_mib;
    set[i] = !memory_mib || below == 0 || memory_mib > accepts->memory_mib[below - 1];
  }
}

/* Makes the sets of one kind: set 0, and the set of each of `count` values. */
static bool make_sets(struct hr__accepts *accepts, struct hr_arena *arena, const struct hr_cluster_spec *cluster,
                      enum hr__accept_kind kind, uint32_t count, select_pools *select) {
  struct hr__pool_sets *sets = &accepts->by[kind];
  if (!HR__ARENA_ARRAY(arena, accepts->set_of[kind], count) ||
      !sets_init(sets, arena, cluster->n_pools, (size_t)count + 1))
    return false;
  memset(sets_draft(sets), true, cluster->n_pools);
  (void)sets_intern(sets);
  for (uint32_t value = 0; value < count; value++) {
    select(accepts, cluster, value, sets_draft(sets));
    accepts->set_of[kind][value + 1] = sets_intern(sets);
  }
  return true;
}

static bool make_all_sets(struct hr__accepts *accepts, struct hr_arena *arena, const struct hr_cluster_spec *cluster) {
  const struct hr_trace *trace = accepts->trace;
  const struct hr_speeds *table = accepts->speeds->table;
  if (!HR__ARENA_ARRAY(arena, accepts->memory_mib, cluster->n_pools)) return false;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].gpu_mem_mib) add_memory(accepts, cluster->pools[i].gpu_mem_mib);
  const struct {
    uint32_t count;
    select_pools *select;
  } kinds[HR__ACCEPT_KINDS] = {[HR__ACCEPT_CLASS] = {HR_N_CLASSES, select_for_class},
                               [HR__ACCEPT_REGION] = {trace->region_lists.count, select_regions},
                               [HR__ACCEPT_GPU] = {trace->gpu_type_lists.count, select_gpus},
                               [HR__ACCEPT_SPEED] = {table ? table->n_rows + 1 : 0, select_with_speed},
                               [HR__ACCEPT_PART] = {trace->mig_profiles.count + 1, select_with_part},
                               [HR__ACCEPT_MEMORY] = {accepts->n_memories + 1, select_with_memory}};
  for (int kind = 0; kind < HR__ACCEPT_KINDS; kind++)
    if (!make_sets(accepts, arena, cluster, (enum hr__accept_kind)kind, kinds[kind].count, kinds[kind].select))
      return false;
  return true;
}

/* ---- Accept classes: classes by set ----------------------------------------------------------------- */

/* One set of pools of each kind, by its index. `barred`: spot pools are removed from the intersection. */
struct accepts_choice {
  uint32_t set[HR__ACCEPT_KINDS];
  bool barred;
};

static uint32_t class_at(const struct hr__accepts *accepts, const struct accepts_choice *choice) {
  size_t row = choice->barred;
  for (int kind = 0; kind < HR__ACCEPT_KINDS; kind++) row = row * accepts->by[kind].count + choice->set[kind];
  return accepts->class_of[row];
}

/* Makes the accept class of an element of accepts->class_of. */
static void make_class(struct hr__accepts *accepts, const struct hr_cluster_spec *cluster, size_t row) {
  uint8_t *draft = sets_draft(&accepts->classes);
  size_t rest = row;
  for (uint32_t i = 0; i < cluster->n_pools; i++) draft[i] = cluster->pools[i].nodes > 0;
  for (int kind = HR__ACCEPT_KINDS; kind-- > 0; rest /= accepts->by[kind].count)
    for (uint32_t i = 0; i < cluster->n_pools; i++)
      draft[i] = draft[i] && sets_have(&accepts->by[kind], (uint32_t)(rest % accepts->by[kind].count), i);
  const bool barred = rest > 0;
  for (uint32_t i = 0; i < cluster->n_pools && barred; i++)
    draft[i] = draft[i] && cluster->pools[i].market.market != HR_MARKET_SPOT;
  accepts->class_of[row] = sets_intern(&accepts->classes);
}

static bool names_profile(const struct hr_trace *trace, hr_job job) {
  return trace->mig_profile && trace->mig_profile[job.id] != HR_NONE;
}

/* Returns whether the job must not use spot capacity. The job itself or its class can exclude spot capacity. */
static bool must_not_use_spot(const struct hr__accepts *accepts, hr_job job) {
  const struct hr_trace *trace = accepts->trace;
  const struct hr_class_spec *classes = accepts->job_classes;
  if (trace->flags && trace->flags[job.id] & HR_JOB_NOT_INTERRUPTIBLE) return true;
  return classes && classes[trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN].no_spot;
}

/* Returns whether the accept class of a job can depend only on whether the job requests GPUs. */
static bool is_plain(const struct hr__accepts *accepts) {
  const struct hr_trace *trace = accepts->trace;
  return !trace->gpu_types && !trace->regions && !trace->class_ && !trace->gpu_mem_mib && !trace->mig_profile &&
         !trace->flags && !accepts->speeds->table;
}

/* Returns the set of one kind for a value; HR_NONE: set 0. */
static inline uint32_t set_of(const struct hr__accepts *accepts, enum hr__accept_kind kind, uint32_t value) {
  return accepts->set_of[kind][value + 1];
}

static struct accepts_choice choice_of(const struct hr__accepts *accepts, hr_job job) {
  const struct hr_trace *trace = accepts->trace;
  const uint32_t gpus = trace->gpus[job.id];
  const uint64_t asked_mib = trace->gpu_mem_mib && gpus ? trace->gpu_mem_mib[job.id] : 0;
  const uint32_t part = names_profile(trace, job) ? trace->mig_profile[job.id] + 1 : 0;
  uint32_t below = 0;
  while (below < accepts->n_memories && accepts->memory_mib[below] < asked_mib) below++;
  const uint32_t class_ = trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN,
                 region = trace->regions ? trace->regions[job.id] : HR_NONE,
                 gpu = trace->gpu_types ? trace->gpu_types[job.id] : HR_NONE,
                 speed = accepts->speeds->table ? accepts->speeds->row_of[job.id] : HR_NONE;
  return (struct accepts_choice){.set = {[HR__ACCEPT_CLASS] = set_of(accepts, HR__ACCEPT_CLASS, class_),
                                         [HR__ACCEPT_REGION] = set_of(accepts, HR__ACCEPT_REGION, region),
                                         [HR__ACCEPT_GPU] = set_of(accepts, HR__ACCEPT_GPU, gpu),
                                         [HR__ACCEPT_SPEED] = set_of(accepts, HR__ACCEPT_SPEED, speed),
                                         [HR__ACCEPT_PART] = set_of(accepts, HR__ACCEPT_PART, gpus ? part : HR_NONE),
                                         [HR__ACCEPT_MEMORY] = set_of(accepts, HR__ACCEPT_MEMORY, below)},
                                 .barred = accepts->has_spot && must_not_use_spot(accepts, job)};
}

/* Sets the classes of jobs in a plain trace. */
static void make_plain(struct hr__accepts *accepts) {
  const struct hr_class_spec *classes = accepts->job_classes;
  struct accepts_choice choice = {.barred = accepts->has_spot && classes && classes[HR_CLASS_UNKNOWN].no_spot};
  choice.set[HR__ACCEPT_CLASS] = set_of(accepts, HR__ACCEPT_CLASS, HR_CLASS_UNKNOWN);
  accepts->plain[false] = class_at(accepts, &choice);
  choice.set[HR__ACCEPT_PART] = set_of(accepts, HR__ACCEPT_PART, 0);
  accepts->plain[true] = class_at(accepts, &choice);
}

bool hr__accepts_init(struct hr__accepts *accepts, struct hr_arena *arena, const struct hr_cluster_spec *cluster,
                      const struct hr_trace *trace, const struct hr_class_spec *job_classes,
                      const struct hr__speed_table *speeds) {
  *accepts = (struct hr__accepts){.trace = trace, .job_classes = job_classes, .speeds = speeds};
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    accepts->has_spot = accepts->has_spot || cluster->pools[i].market.market == HR_MARKET_SPOT;
  if (!make_all_sets(accepts, arena, cluster)) return false;
  size_t n_rows = 2;
  for (int kind = 0; kind < HR__ACCEPT_KINDS; kind++) n_rows *= accepts->by[kind].count;
  if (!HR__ARENA_ARRAY(arena, accepts->class_of, n_rows) ||
      !sets_init(&accepts->classes, arena, cluster->n_pools, n_rows))
    return false;
  for (size_t row = 0; row < n_rows; row++) make_class(accepts, cluster, row);
  make_plain(accepts);
  return true;
}

uint32_t hr__accepts_class(const struct hr__accepts *accepts, hr_job job) {
  if (is_plain(accepts)) return accepts->plain[accepts->trace->gpus[job.id] > 0];
  const struct accepts_choice choice = choice_of(accepts, job);
  return class_at(accepts, &choice);
}

enum hr_reason hr__accepts_refusal(const struct hr__accepts *accepts, hr_job job, uint32_t class_, uint32_t pool) {
  static const struct {
    enum hr__accept_kind kind;
    enum hr_reason reason;
  } order[] = {{HR__ACCEPT_GPU, HR_REASON_NO_GPU_TYPE},   {HR__ACCEPT_SPEED, HR_REASON_NO_GPU_TYPE},
               {HR__ACCEPT_MEMORY, HR_REASON_GPU_MEMORY}, {HR__ACCEPT_REGION, HR_REASON_NO_REGION},
               {HR__ACCEPT_PART, HR_REASON_MIG_PROFILE},  {HR__ACCEPT_CLASS, HR_REASON_NO_CLASS_POOL}};
  if (hr__accepts_pool(accepts, class_, pool)) return HR_REASON_NONE; /* all sets have the pool */
  const struct accepts_choice choice = choice_of(accepts, job);
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    const enum hr__accept_kind kind = order[i].kind;
    if (sets_have(&accepts->by[kind], choice.set[kind], pool)) continue;
    return kind == HR__ACCEPT_PART && !names_profile(accepts->trace, job) ? HR_REASON_ONLY_MIG : order[i].reason;
  }
  return HR_REASON_SPOT_ONLY;
}

/* ---- Requests --------------------------------------------------------------------------------------- */

struct mig_needs {
  struct hr_arena *arena;
  const struct hr_cluster_spec *cluster; /* NULL if no GPU is partitioned */
  const uint16_t **need; /* [count]: the distinct arrays of suitable profiles. Each array has one set for each pool */
  uint32_t count, capacity;
  uint16_t *scratch;     /* [n_pools]: the array for the present request, before it is stored */
  struct mig_name *name; /* indexed by the number of the profile name in the trace */
};

/* The meaning of a profile name in each pool. */
struct mig_name {
  uint16_t *profile; /* [n_pools]: the set that contains only the named profile, or the empty set if the pool does not
                        have the profile */
  uint32_t gpu_milli, mem_mib; /* share and memory of the profile in the first pool that has it; 0 if no pool has it */
};

/* Returns the MIG settings of a pool, or NULL if the pool has no partitioned GPUs. */
static const struct hr_mig_spec *split_of(const struct hr_cluster_spec *cluster, uint32_t pool) {
  return cluster->pools[pool].nodes > 0 ? cluster->pools[pool].mig : NULL;
}

/* ---- Requests: profile names ------------------------------------------------------------------------ */

static uint32_t compute_milli(const struct hr_mig_type *type, uint32_t profile) {
  uint32_t slices = type->compute_slices;
  return (type->profiles[profile].compute_slices * HR_WHOLE_GPU_MILLI + slices - 1) / slices;
}

static bool read_name(const struct mig_needs *needs, const char *text, struct mig_name *name) {
  const struct hr_cluster_spec *cluster = needs->cluster;
  if (!HR__ARENA_ARRAY(needs->arena, name->profile, cluster->n_pools)) return false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_mig_spec *mig = split_of(cluster, i);
    uint32_t profile;
    if (!mig || hr_mig_profile_parse(&mig->type, text, &profile, NULL) != HR_OK) continue;
    name->profile[i] = (uint16_t)(1U << profile);
    if (name->gpu_milli) continue;
    name->gpu_milli = compute_milli(&mig->type, profile);
    name->mem_mib = mig->type.profiles[profile].mem_mib;
  }
  return true;
}

/* Initializes `needs`. `cluster` may be NULL. Returns false if memory is exhausted. */
static bool mig_needs_init(struct mig_needs *needs, struct hr_arena *arena, const struct hr_cluster_spec *cluster,
                           const struct hr_trace *trace) {
  bool any = false;
  for (uint32_t i = 0; cluster && i < cluster->n_pools; i++) any = any || split_of(cluster, i);
  *needs = (struct mig_needs){.arena = arena, .cluster = any ? cluster : NULL};
  if (!any) return true;
  if (!HR__ARENA_ARRAY(arena, needs->scratch, cluster->n_pools) ||
      !HR__ARENA_ARRAY(arena, needs->name, (size_t)trace->mig_profiles.count + 1))
    return false;
  for (uint32_t i = 0; i < trace->mig_profiles.count; i++)
    if (!read_name(needs, trace->mig_profiles.text[i], &needs->name[i])) return false;
  return true;
}

/* ---- Requests: suitable profiles -------------------------------------------------------------------- */

static uint16_t enough(const struct hr_mig_spec *mig, const struct hr_request *request) {
  uint32_t profiles = 0;
  for (uint32_t i = 0; mig && i < mig->type.n_profiles; i++) {
    const struct hr_mig_profile *profile = &mig->type.profiles[i];
    bool has = profile->mem_mib >= request->gpu_mem_mib && compute_milli(&mig->type, i) >= request->gpu_milli;
    profiles |= (uint32_t)(has && !profile->media) << i;
  }
  return (uint16_t)profiles;
}

/* Returns the stored array that equals the scratch array, and sets `*number` to its index. If no stored array equals
   it, the function first stores a copy of the scratch array. Returns NULL if memory is exhausted. */
static const uint16_t *intern_needs(struct mig_needs *needs, uint32_t *number) {
  size_t bytes = needs->cluster->n_pools * sizeof *needs->scratch;
  for (*number = 0; *number < needs->count; ++*number)
    if (memcmp(needs->need[*number], needs->scratch, bytes) == 0) return needs->need[*number];
  if (needs->count == needs->capacity)
    needs->need = hr_arena_grown(needs->arena, needs->need, &needs->capacity, sizeof *needs->need);
  uint16_t *copy = needs->need ? hr_arena_alloc(needs->arena, bytes) : NULL;
  if (!copy) return NULL;
  memcpy(copy, needs->scratch, bytes);
  return needs->need[needs->count++] = copy;
}

static const struct mig_name *name_of(const struct mig_needs *needs, const struct hr_trace *trace, hr_job job) {
  uint32_t number = trace->mig_profile ? trace->mig_profile[job.id] : HR_NONE;
  return number == HR_NONE ? NULL : &needs->name[number];
}

/* Returns the set that contains only the named profile, or the empty set if the profile has less memory than the job
   requests. */
static uint16_t named_in(const struct mig_needs *needs, const struct mig_name *name, uint32_t pool,
                         uint64_t requested_mib) {
  const struct hr_mig_spec *mig = split_of(needs->cluster, pool);
  uint32_t profiles = name->profile[pool];
  return profiles && mig->type.profiles[__builtin_ctz(profiles)].mem_mib >= requested_mib ? (uint16_t)profiles : 0;
}

/* Sets `mig_profiles`, `mig_need` and `prefers_mig` of a job's request. Has no effect in clusters without MIG. Returns
   false if memory is exhausted. These profiles suffice for a request:
   - If the job names a profile, only this profile, and only if it has the memory that the job requests.
   - If the job names no profile, with mig_fallback: all profiles without media engines that have at least the requested
     memory and the requested share of compute slices. Without mig_fallback: none.
   - For a task with several GPUs: none, because instances cannot communicate with each other.

   If the job names a profile and requests no share of a GPU, the request gets the share of this profile. If such a job
   requests no GPU memory, the request gets the memory of the profile. Both values are those of the first pool that has
   the profile. */
static bool mig_needs_add(struct mig_needs *needs, const struct hr_trace *trace, hr_job job,
                          struct hr_request *request) {
  if (!needs->cluster) return true;
  uint64_t requested_mib = request->gpu_mem_mib;
  const struct mig_name *name = request->gpus ? name_of(needs, trace, job) : NULL;
  if (name && name->gpu_milli && request->gpu_milli == HR_WHOLE_GPU_MILLI) request->gpu_milli = name->gpu_milli;
  if (name && name->mem_mib && request->gpu_mem_mib == 0) request->gpu_mem_mib = name->mem_mib;
  for (uint32_t i = 0; i < needs->cluster->n_pools; i++) {
    if (name)
      needs->scratch[i] = named_in(needs, name, i, requested_mib);
    else
      needs->scratch[i] = needs->cluster->mig_fallback ? enough(split_of(needs->cluster, i), request) : 0;
    if (request->gpus != 1) needs->scratch[i] = 0;
  }
  request->prefers_mig = name != NULL && needs->cluster->mig_fallback;
  request->mig_profiles = intern_needs(needs, &request->mig_need);
  return request->mig_profiles != NULL;
}

/* ---- Requests: the request of a job ----------------------------------------------------------------- */

/* If a task requests more GPUs than the largest node has (`max_gpus`), splits the task into equal tasks. The number of
   GPUs of each new task is the greatest common divisor of the requested number and `max_gpus`, so that the new tasks
   fill nodes evenly. CPU and memory are divided equally and rounded up. If `max_gpus` is 0, no acceptable node has
   GPUs, and the task is not split. */
static void split(struct hr_request *request, uint32_t max_gpus) {
  if (max_gpus == 0 || request->gpus <= max_gpus) return;
  uint32_t gpus = (uint32_t)hr__common_divisor(request->gpus, max_gpus), parts = request->gpus / gpus;
  request->tasks *= parts;
  request->gpus = gpus;
  request->cpu_milli = (request->cpu_milli + parts - 1) / parts;
  request->mem_mib = (request->mem_mib + parts - 1) / parts;
}

/* The data from which the request of a job is derived. */
struct requests_reader {
  const struct hr_trace *trace;
  const struct hr__accepts *accepts; /* NULL: use `accept_class` instead; if both are NULL, all classes are 0 */
  const uint32_t *accept_class, *max_gpus;
  struct mig_needs mig;
};

static uint32_t class_of(const struct requests_reader *reader, hr_job job) {
  if (reader->accepts) return hr__accepts_class(reader->accepts, job);
  return reader->accept_class ? reader->accept_class[job.id] : 0;
}

static struct hr_request request_of(const struct requests_reader *reader, hr_job job) {
  const struct hr_trace *trace = reader->trace;
  uint32_t i = job.id, tasks = trace->tasks && trace->tasks[i] ? trace->tasks[i] : 1, gpus = trace->gpus[i];
  struct hr_request request = {.accept_class = class_of(reader, job),
                               .tasks = tasks,
                               .gpus = gpus / tasks + (gpus % tasks != 0),
                               .cpu_milli = trace->cpu_milli ? trace->cpu_milli[i] : 0,
                               .mem_mib = trace->mem_mib ? trace->mem_mib[i] : 0,
                               .dedicated = trace->flags && trace->flags[i] & HR_JOB_DEDICATED};
  if (gpus == 0) return request;
  request.gpu_milli = trace->gpu_milli ? trace->gpu_milli[i] : HR_WHOLE_GPU_MILLI;
  const uint64_t mem_mib = trace->gpu_mem_mib ? trace->gpu_mem_mib[i] : 0;
  request.gpu_mem_mib = mem_mib < HR_NONE ? (uint32_t)mem_mib : HR_NONE - 1;
  if (reader->max_gpus) split(&request, reader->max_gpus[request.accept_class]);
  return request;
}

/* ---- Requests: table of requests -------------------------------------------------------------------- */

struct requests_table {
  struct hr_arena *arena;
  struct hr_requests *requests;
  uint32_t capacity;
  struct hr__hash numbers; /* maps a request to its index */
};

static uint32_t hash_of(const struct hr_request *request) {
  uint64_t digest = hr__digest_add(0, (uint64_t)request->accept_class << 32 | request->tasks);
  digest = hr__digest_add(digest, (uint64_t)request->gpus << 32 | request->gpu_milli);
  digest = hr__digest_add(digest, (uint64_t)request->gpu_mem_mib << 32 | request->cpu_milli);
  digest = hr__digest_add(digest, request->mem_mib);
  return (uint32_t)hr__digest_add(digest, (uint64_t)request->mig_need << 32 | request->dedicated);
}

static bool same(const struct hr_request *a, const struct hr_request *b) {
  return a->accept_class == b->accept_class && a->tasks == b->tasks && a->gpus == b->gpus &&
         a->gpu_milli == b->gpu_milli && a->gpu_mem_mib == b->gpu_mem_mib && a->cpu_milli == b->cpu_milli &&
         a->mem_mib == b->mem_mib && a->dedicated == b->dedicated && a->mig_need == b->mig_need &&
         a->prefers_mig == b->prefers_mig;
}

static bool grow(struct requests_table *table) {
  struct hr_requests *requests = table->requests;
  uint32_t capacity = table->capacity, same_capacity = table->capacity;
  struct hr_request *request = hr_arena_grown(table->arena, requests->request, &capacity, sizeof *request);
  uint64_t *jobs = hr_arena_grown(table->arena, requests->jobs, &same_capacity, sizeof *jobs);
  if (!request || !jobs) return false;
  requests->request = request;
  requests->jobs = jobs;
  table->capacity = capacity;
  return true;
}

/* Returns the index of the request in the table. If the table has no equal request, the function adds it. Returns
   HR_NONE if memory is exhausted. */
static uint32_t number_of(struct requests_table *table, const struct hr_request *request) {
  struct hr_requests *requests = table->requests;
  struct hr__hash_cursor at;
  uint32_t hash = hash_of(request), number = hr__hash_first(&table->numbers, hash, &at);
  while (number != HR_NONE && !same(&requests->request[number], request)) number = hr__hash_next(&table->numbers, &at);
  if (number != HR_NONE) return number;
  if (requests->count == table->capacity && !grow(table)) return HR_NONE;
  if (!hr__hash_add(&table->numbers, table->arena, hash, requests->count)) return HR_NONE;
  requests->request[requests->count] = *request;
  return requests->count++;
}

/* ---- Requests: all jobs of a trace ------------------------------------------------------------------ */

struct hr__request_reader {
  struct requests_table table;
  struct requests_reader reader;
};

/* Returns the index of a job's request in the table, or HR_NONE if memory is exhausted. */
static uint32_t find(struct hr__request_reader *self, hr_job job) {
  struct hr_request request = request_of(&self->reader, job);
  if (!mig_needs_add(&self->reader.mig, self->reader.trace, job, &request)) return HR_NONE;
  return number_of(&self->table, &request);
}

static bool count_jobs(struct hr_requests *requests) {
  struct hr__request_reader *self = requests->reader;
  struct hr_arena *arena = self->table.arena;
  const struct hr__accepts *accepts = self->reader.accepts;
  for (uint32_t job = 0; job < self->reader.trace->n_jobs; job++) {
    if (hr__arena_is_streamed(arena) && accepts) hr__speeds_find_row(accepts->speeds, accepts->trace, (hr_job){job});
    uint32_t number = find(self, (hr_job){job});
    if (number == HR_NONE) return false;
    requests->jobs[number]++;
    if (!hr__arena_is_streamed(arena)) requests->of_job[job] = number;
    hr_arena_passed_job(arena, (hr_job){job});
  }
  requests->mig_needs = self->reader.mig.count;
  return true;
}

/* The look-up always succeeds, because hr__requests_create has added the requests of all rows of the trace to the
   table. */
void hr__requests_submit(const struct hr_requests *requests, hr_job job) {
  requests->of_job[job.id] = find(requests->reader, job);
}

static struct hr_requests *make(struct hr_arena *arena, const struct requests_reader *reader,
                                const struct hr_cluster_spec *cluster) {
  struct hr_requests *requests = hr_arena_alloc(arena, sizeof *requests);
  struct hr__request_reader *self = hr_arena_alloc(arena, sizeof *self);
  if (!requests || !self) return NULL;
  *self = (struct hr__request_reader){{.arena = arena, .requests = requests}, *reader};
  requests->reader = self;
  requests->of_job = hr_arena_alloc_by_job(arena, reader->trace->n_jobs, sizeof *requests->of_job);
  if (!requests->of_job || !mig_needs_init(&self->reader.mig, arena, cluster, reader->trace)) return NULL;
  return count_jobs(requests) ? requests : NULL;
}

struct hr_requests *hr_requests_create(struct hr_arena *arena, const struct hr_trace *trace,
                                       const uint32_t *accept_class, const uint32_t *max_gpus,
                                       const struct hr_cluster_spec *cluster) {
  const struct requests_reader reader = {.trace = trace, .accept_class = accept_class, .max_gpus = max_gpus};
  return make(arena, &reader, cluster);
}

struct hr_requests *hr__requests_create(struct hr_arena *arena, const struct hr__accepts *accepts,
                                        const uint32_t *max_gpus, const struct hr_cluster_spec *cluster) {
  const struct requests_reader reader = {.trace = accepts->trace, .accepts = accepts, .max_gpus = max_gpus};
  return make(arena, &reader, cluster);
}
