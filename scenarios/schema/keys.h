/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_SCHEMA_KEYS_H
#define HR_SCENARIOS_SCHEMA_KEYS_H

/*
 * Key tables: all keys that a JSON document of Headroom may have. A table lists the members of one kind of object. A
 * row has all properties of a key: type, unit, bounds, default, help, and the member of a C struct that stores its
 * value. The tables are used for validation, suggestions, overrides (--set), the reader that fills the structs
 * (scenarios/build/builder.c), JSON Schemas, `headroom list keys`, the tables of docs/reference/scenario.md, and the
 * template of `headroom init --all`. The end of this header declares the checks and overrides of documents (source.c).
 *
 * A row consists of a name, a type and other properties: {"boot_s", SECONDS, DEFAULT("0"), AT(...), HELP("...")}.
 */

#include "headroom/base.h"
#include "headroom/policy.h"
#include "traces/json/json.h"

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MAX_EXACT 0x1p53 /* maximum whole number that all JSON readers read exactly */
#define MAX_TEXT 10000.0
#define MAX_NAME 200.0
#define MAX_MEMBERS 1000.0
#define MAX_NUMBER 1e15
#define MIN_STEP 1e-12
#define MIN_SCALE 1e-6 /* minimum of numbers that must be above 0 */
#define MAX_USD 1e9    /* up to this amount, a double is precise to a micro-dollar */
#define MAX_SECONDS ((double)(HR_MAX_INPUT_US / HR_SECOND_US))

/* Types of values. */
enum hr__key_type {
  HR__KEY_OBJECT, /* its members are `keys`; the row "*" is for members with any name, or with one of `choices` */
  HR__KEY_LIST,   /* the first row of `keys` has the name "*" and describes an entry of the list */
  HR__KEY_TEXT,
  HR__KEY_WHOLE,
  HR__KEY_REAL,
  HR__KEY_BOOLEAN,
  HR__KEY_CHOICE, /* one of `choices` */
  HR__KEY_SEED,   /* a whole number up to 2^53, or the digits of a whole number below 2^64 as a text */
  HR__KEY_SCALAR  /* text, number, true or false */
};

/* How the reader stores a value at `offset` of a struct. */
enum hr__key_store {
  HR__STORE_NONE,
  /* integer of `bytes` bytes: a whole number; a real number * `scale`, rounded; 1 for true; the value of a choice; or a
     seed */
  HR__STORE_INTEGER,
  HR__STORE_NOT,      /* bool: true if the value is false */
  HR__STORE_DOUBLE,   /* double */
  HR__STORE_MICROS,   /* integer: number * 1000000 * `scale`, rounded half up; `scale` is above 0 and at most 1 */
  HR__STORE_TEXT,     /* char *: a copy */
  HR__STORE_BORROWED, /* const char *: the text of the tree */
  HR__STORE_FILE,     /* char *: a copy of the path, resolved relative to the folder of the document */
  HR__STORE_PLACED,   /* struct hr_placed_text */
  HR__STORE_PART,     /* the members of an object are stored in the struct at `offset` */
  HR__STORE_ARRAY,    /* pointer to an array of entries of `bytes` bytes; their number is stored at `count_offset` */
  HR__STORE_BITS,     /* uint32_t: a list of choices as a set of bits */
  HR__STORE_BY_CLASS  /* array with an entry of `bytes` bytes per class of jobs; see builder.h */
};

/* A key that a document may have. */
struct hr__key {
  const char *name; /* "*": any name, or any index of a list */
  enum hr__key_type type;
  bool required;
  /* bounds of a number, of the length of a text in bytes, or of the number of entries of a list or object */
  double min, max;
  const char *const *choices; /* NULL-terminated */
  uint32_t first_choice;      /* value of choices[0] in its enum */
  const struct hr__key *keys; /* rows of an object or a list; the last row has a NULL name */
  const char *unit;           /* NULL: none */
  const char *fallback;       /* the default as JSON, texts without quotes; NULL: no constant default */
  const char *otherwise;      /* the default in words; NULL: no default, or `fallback` is the default */
  const char *or_text;        /* of an object: a text that may replace it; NULL: none */
  /* of an object: words that may replace it; NULL: none. A word means an object in which the first member has the word
     as its value */
  const char *const *or_words;
  const char *help; /* sentences; the first one is understandable without the others */
  /* of an object: lists of keys contain its members, but not the members of its members, which are listed elsewhere */
  bool brief;
  const char *replaced_by; /* current name of this key, which is an old name; NULL: the name of this key is current */
  const char *schema;      /* additional members of its JSON Schema; NULL: none */
  /* The value of one choice of an object can decide which other keys the object may have. `selects`: this key is the
     choice. `only_with`: set of bits 1 << value of the choice: the key is allowed only with these values; 0: with all
     values. `needed`: the key is required with the values in `only_with`. */
  bool selects, needed;
  uint32_t only_with;
  enum hr__key_store store;
  double scale;          /* see enum hr__key_store; 0 means 1 */
  uint32_t offset;       /* of the member in the struct */
  uint32_t bytes;        /* size of the member, or of an entry */
  uint32_t count_offset; /* HR__STORE_ARRAY: offset of the member with the number of entries */
  uint32_t count_bytes;  /* HR__STORE_ARRAY: size of this member */
};

/* ---- Types ------------------------------------------------------------------------------------------ */

#define OBJECT(table) .type = HR__KEY_OBJECT, .max = MAX_MEMBERS, .keys = (table)
#define OR_TEXT(text) .or_text = (text)
#define OR_WORDS(words) .or_words = (words)
#define LIST(low, high, table) .type = HR__KEY_LIST, .min = (low), .max = (high), .keys = (table)
#define TEXT(low, high) .type = HR__KEY_TEXT, .min = (low), .max = (high)
#define NAME TEXT(1, MAX_NAME)
#define PATH TEXT(1, MAX_TEXT)
#define WHOLE(low, high) .type = HR__KEY_WHOLE, .min = (low), .max = (high)
#define REAL(low, high) .type = HR__KEY_REAL, .min = (low), .max = (high)
#define SECONDS SECONDS_FROM(0)
#define SECONDS_FROM(low) REAL(low, MAX_SECONDS), .unit = "s"
#define SHARE REAL(0, 1), .unit = "share"
#define USD USD_UP_TO(MAX_USD)
#define USD_UP_TO(high) REAL(0, high), .unit = "USD"
#define BOOLEAN .type = HR__KEY_BOOLEAN
#define CHOICE(words) .type = HR__KEY_CHOICE, .choices = (words)
#define CHOICE_AFTER_FIRST(words) .type = HR__KEY_CHOICE, .choices = (words) + 1, .first_choice = 1
#define SEED .type = HR__KEY_SEED, .max = MAX_EXACT
#define SCALAR .type = HR__KEY_SCALAR
#define END                                                                                                            \
  { .name = NULL }

/* ---- Other properties ------------------------------------------------------------------------------- */

#define MUST .required = true
#define DEFAULT(text) .fallback = (text)
#define OTHERWISE(words) .otherwise = (words)
#define HELP(words) .help = (words)
#define WITH(values) .only_with = (values)
#define NEEDED_WITH(values) .only_with = (values), .needed = true

/* The member of a struct that stores the value. */
#define AT(kind, type, member)                                                                                         \
  .store = HR__STORE_##kind, .offset = offsetof(type, member), .bytes = sizeof(((type *)NULL)->member)
#define SCALED(factor, type, member) AT(INTEGER, type, member), .scale = (factor)
#define AS_US(type, member) SCALED(1e6, type, member)
#define AS_PPM(type, member) AT(MICROS, type, member), .scale = 1
#define AS_UUSD(type, member) AT(MICROS, type, member), .scale = 1
#define AS_MB(type, member) AT(MICROS, type, member), .scale = 1e-3
#define AS_ARRAY(type, member, count)                                                                                  \
  .store = HR__STORE_ARRAY, .offset = offsetof(type, member), .bytes = sizeof(*((type *)NULL)->member),                \
  .count_offset = offsetof(type, count), .count_bytes = sizeof(((type *)NULL)->count)
#define BY_CLASS(type, member)                                                                                         \
  .store = HR__STORE_BY_CLASS, .offset = offsetof(type, member), .bytes = sizeof(((type *)NULL)->member[0])

/* The table of a list, or of an object with members of any name: one row "*". */
#define EACH(...)                                                                                                      \
  (const struct hr__key[]) {                                                                                           \
    {"*", __VA_ARGS__}, END                                                                                            \
  }

/* ---- Tables ----------------------------------------------------------------------------------------- */

/* Rows of the outermost objects of documents. The table of their members is `keys`. */
extern const struct hr__key hr__scenario_keys, hr__grid_keys, hr__suite_keys, hr__baseline_keys,
    hr__workload_model_keys;
/* Tables of objects that other tables, or the functions that build sections, refer to. */
extern const struct hr__key hr__pool_keys[], hr__fault_keys[], hr__maintenance_keys[], hr__power_keys[],
    hr__autoscaler_keys[], hr__node_pool_keys[], hr__axis_keys[], hr__policy_keys[], hr__kai_keys[], hr__kueue_keys[];
extern const struct hr__key hr__carbon_keys[], hr__energy_price_keys[];
extern const char *const hr__carbon_units[], *const hr__price_units[];
extern const struct hr__key hr__kubernetes_keys[], hr__slurm_keys[], hr__volcano_keys[];
/* `owned` of a pool, and `tco`. */
extern const struct hr__key hr__owned_keys[], hr__tco_keys[];

/* An entry of `services`. */
extern const struct hr__key hr__service_keys[];

/* "default" and the names of the classes of jobs, as keys, in the order of enum hr_job_class. */
extern const char *const hr__class_keys[];

/* Returns true if `word` is in a NULL-terminated list. */
static inline bool hr__word_is_in(const char *word, const char *const *list) {
  while (*list && strcmp(*list, word) != 0) list++;
  return *list != NULL;
}

/* Returns the row for the member `name` of an object, or for the entries of a list; NULL if the object may not have
   such a member. `parent->keys` must not be NULL. */
const struct hr__key *hr__key_member(const struct hr__key *parent, const char *name);
/* Maximum number of members of an object in a table. */
enum { HR__MAX_KEYS = 60 };
/* Stores the known names of the members of an object in `names`: those of its rows, without "*", and its `choices`.
   `names` has HR__MAX_KEYS + 1 entries; NULL follows the last name. */
void hr__key_names(const struct hr__key *parent, const char **names);

/* Writes the error for an unknown key: "unknown key 'policy.ordr'; did you mean 'policy.order'? (known keys: ...)".
   `path` is the path of the object, "" for the outermost one. `known` is NULL-terminated. */
void hr__key_unknown(const char *path, const char *name, const char *const *known, char *text, size_t size);
/* Writes which values a key may have, such as "a whole number from 0 to 16000000". */
void hr__key_expected(const struct hr__key *key, char *text, size_t size);

/* Limits of grids: the number of axes (the dimensions of GSL's Sobol sequence), and the number of levels of an axis. */
enum { HR__MAX_AXES = 40, HR__MAX_LEVELS = 10000 };

/* Returns the tree as JSON text with an indentation of two spaces and a final newline; NULL if out of memory. The
   caller frees the text with free(). */
char *hr__json_pretty(const cJSON *tree);

/* ---- Documents (source.c) ------------------------------------------------------------------------------ */

/* A JSON document with the overrides of its values (--set). */
struct hr__source {
  const char *path; /* path of the file, for messages */
  struct hr__json_file file;
  /* the tree of the whole file, if the values of file.tree refer to it; NULL: file.tree is the whole tree. The place of
     a value in messages is that in this tree. */
  const cJSON *places;
  const char *const *overrides; /* [n_overrides] "path=value" */
  size_t n_overrides;
};

/* Writes the path of a value, such as "cluster.pools.0.nodes"; "" for the outermost object, and for a value that is not
   in the tree. */
void hr__source_path(const struct hr__source *source, const cJSON *value, char *text, size_t size);

/* Applies the overrides to the tree. Returns HR_BAD_INPUT if a path is not that of a key of hr__scenario_keys, or
   HR_NO_MEMORY. After an error, some overrides may have been applied. */
enum hr_status hr__source_override(struct hr__source *source, struct hr_error *error);
/* Checks the tree against the row of its outermost object. `noun` is the name of the document in messages, such as "the
   scenario". The only error is HR_BAD_INPUT. */
enum hr_status hr__source_validate(const struct hr__source *source, const struct hr__key *key, const char *noun,
                                   struct hr_error *error);

/* Reports an error at a value of the tree and returns HR_BAD_INPUT. The message begins with
   - "--set OVERRIDE: " if an override set the value or a value that contains it;
   - "FILE: " if `value` is NULL or not in the tree;
   - "FILE:LINE:COLUMN: " in all other cases: the place of the value, or of its key if `at_key` is set. */
enum hr_status hr__source_fail(const struct hr__source *source, const cJSON *value, bool at_key, struct hr_error *error,
                               const char *format, ...) HR_PRINTF(5, 6);

#endif
