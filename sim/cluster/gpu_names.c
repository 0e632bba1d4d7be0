/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Matches the names of GPU types that jobs request with the types of pools.
 *
 * A name is compared by its key: letters and digits in lower case. Before, words that do not distinguish types are
 * removed: at the beginning the vendor, the product line and Slurm's resource name, at the end "-SHARED" (the GPU
 * operator adds it to the label nvidia.com/gpu.product of shared GPUs) and a count (":2"). A type that some pool has
 * exactly never selects other pools, so names that need no translation are not translated.
 */

#include "sim/cluster/gpu_names.h"

#include <string.h>
#include <strings.h>

struct name {
  const char *at;
  size_t length;
};

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Removes `word` and the separators after it from the beginning of a name. The rest must not be empty. */
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

/* Returns whether a type or a name of the pool has the key. */
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
