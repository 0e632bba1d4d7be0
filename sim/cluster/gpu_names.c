/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Matches the names of GPU types that jobs request with the types of pools, and finds names that were misspelt.
 *
 * Names are compared by their keys. A key consists of the letters and digits of the name in lower case, without words
 * that do not distinguish types. At the beginning, these are the vendor, the product line and Slurm's resource name. At
 * the end, these are "-SHARED", which the GPU operator adds to the label nvidia.com/gpu.product of shared GPUs, and a
 * count (":2"). If some pool has exactly the requested type, only pools of this type are selected. So names that need
 * no translation are not translated.
 */

#include "base/text.h"
#include "sim/cluster/cluster.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- Names of pools --------------------------------------------------------------------------------------- */

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

/* ---- Misspelt names --------------------------------------------------------------------------------------- */

/* A misspelt name is assumed to have the right letters of the model, because "A100" and "H100" differ by one letter but
   are different products. Digits and the letters that resemble them are equal in comparisons ("A10O"). */

static void fold_digits(char *key) {
  for (; *key; key++)
    if (*key == 'o')
      *key = '0';
    else if (*key == 'i' || *key == 'l')
      *key = '1';
}

/* A name to compare: its key, and the length of its model in the key, such as 4 of "a10080" for "A100-80". */
struct spelling {
  char key[HR__GPU_KEY_BYTES];
  size_t bytes, letters, model;
};

/* The model is the first letters, a separator, and the digits up to the next separator or letter. */
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

/* How much two names differ: the edit distance of their keys, and more if the models differ. SIZE_MAX: they are not
   similar. */
static size_t difference(const struct spelling *name, const struct spelling *known) {
  enum { TINY_KEY = 2, SHORT_KEY = 6 };
  size_t edits = hr__edit_distance(name->key, known->key);
  if (name->letters != known->letters || strncmp(name->key, known->key, name->letters) != 0) return SIZE_MAX;
  if (edits > (name->bytes <= TINY_KEY ? 0 : name->bytes <= SHORT_KEY ? 1 : 2)) return SIZE_MAX;
  return is_same_model(name, known) ? edits : edits + SHORT_KEY;
}

/* Returns whether a name is a known one with more characters at its end, such as "H100-SXM9". */
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

/* Returns whether a key is that of a Grace superchip, such as GB200: the name of its GPU follows the G. */
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
