/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_IMPORT_IMPORT_H
#define HR_SCENARIOS_IMPORT_IMPORT_H

/*
 * Types and functions that the readers of configurations share: YAML, objects of Kubernetes and their fields, the
 * systems, copies of fields to keys, and pools.
 */

#include "base/containers.h"
#include "headroom/base.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/scenario_files.h"
#include "policies/kueue/kueue.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* ---- Manifests -------------------------------------------------------------------------------------- */

/*
 * Kubernetes objects from manifests and from the output of `kubectl get -o yaml|json`. Each kind of object has a table
 * of its fields, with type and effect. Objects are checked against their tables when they are read:
 *
 *   unknown fields                       a warning with the place; the field is ignored
 *   known fields that are not modelled   a note with the effect, unless the value changes nothing
 *   wrong types, words and bounds, missing fields, wrong API versions, duplicates: an error with the place
 *
 * After this, code that converts objects can rely on the types.
 */

/* ---- Manifests: YAML (yaml.c) ----------------------------------------------------------------------- */

/*
 * YAML and JSON files as trees. A file may have several documents. Each value has its place in the file, for messages.
 *
 * Aliases refer to the children of their anchor, so they take no memory. The size of a document after its aliases are
 * expanded is limited, so that walks over a tree take bounded time. Merge keys ("<<") are applied.
 */

enum hr__yaml_kind { HR__YAML_SCALAR, HR__YAML_LIST, HR__YAML_MAP };

/* The type of a scalar. Quoted scalars are texts; the type of others follows from their form, as in YAML 1.1. */
enum hr__yaml_type { HR__YAML_TEXT, HR__YAML_NULL, HR__YAML_BOOLEAN, HR__YAML_WHOLE, HR__YAML_REAL };

/* A value. Children are a linked list. */
struct hr__yaml {
  const char *path; /* of the file */
  const char *key;  /* in the map that contains the value; otherwise NULL */
  const char *text; /* of a scalar; otherwise "" */
  struct hr__yaml *first, *next;
  uint32_t line, column;         /* from 1 */
  uint32_t key_line, key_column; /* of the key; otherwise those of the value */
  uint32_t count;                /* number of children */
  uint32_t weight;               /* number of values of the tree below, after expansion of aliases; at least 1 */
  uint8_t kind;                  /* enum hr__yaml_kind */
  bool quoted;                   /* the scalar is not plain */
  bool block;                    /* the scalar begins in the line after its key: "|" or ">" */
};

/* Documents of any number of files. A list with all members 0 is empty. */
struct hr__yaml_documents {
  struct hr_arena arena;
  struct hr__yaml **roots;
  uint32_t count, capacity;
};

/* Adds the documents of a file; "-" is standard input. Empty documents are left out. Returns HR_BAD_INPUT with the
   place for syntax errors, duplicate keys, unknown anchors, aliases of an enclosing value, and values that are nested
   too deeply or too many. `path` is borrowed. */
enum hr_status hr__yaml_read(struct hr__yaml_documents *documents, const char *path, struct hr_error *error);
/* The same for a text, such as a value of a ConfigMap. Its first line has the number `line`. */
enum hr_status hr__yaml_read_text(struct hr__yaml_documents *documents, const char *path, const char *text,
                                  uint32_t line, struct hr_error *error);
void hr__yaml_finish(struct hr__yaml_documents *documents);

enum hr__yaml_type hr__yaml_type_of(const struct hr__yaml *scalar);

/* The child of a map with this key, unless it is null; NULL: not found. `map` may be NULL or have any kind. */
struct hr__yaml *hr__yaml_child(const struct hr__yaml *map, const char *key);
/* The value at a path of keys, separated by '.'; NULL: not found. */
struct hr__yaml *hr__yaml_at(const struct hr__yaml *map, const char *path);
/* The text of the scalar at a path; NULL: not found. */
const char *hr__yaml_text(const struct hr__yaml *map, const char *path);

/* The first child of the value at a path; NULL: not found. */
static inline struct hr__yaml *hr__yaml_first(const struct hr__yaml *map, const char *path) {
  const struct hr__yaml *value = hr__yaml_at(map, path);
  return value ? value->first : NULL;
}

/* ---- Manifests: tables ------------------------------------------------------------------------------ */

enum hr__field_type {
  HR__FIELD_ANY, /* not checked */
  HR__FIELD_TEXT,
  HR__FIELD_WORD, /* one of `words` */
  HR__FIELD_WHOLE,
  HR__FIELD_REAL,
  HR__FIELD_BOOLEAN,
  HR__FIELD_QUANTITY, /* a number, or a text such as "100m" or "2Gi" */
  HR__FIELD_DURATION, /* a text such as "1h30m" */
  HR__FIELD_OBJECT,   /* with `fields` */
  HR__FIELD_LIST,     /* of objects with `fields` */
  HR__FIELD_TEXTS,    /* a list of texts */
  HR__FIELD_WORDS,    /* a list of `words` */
  HR__FIELD_LABELS,   /* an object with any keys: texts */
  HR__FIELD_AMOUNTS,  /* an object with any keys: quantities */
  HR__FIELD_NUMBERS,  /* an object with any keys: numbers */
  HR__FIELD_SWITCHES  /* an object with any keys: true or false */
};

struct hr__field {
  const char *name; /* NULL: end of the table */
  enum hr__field_type type;
  bool required;
  bool not_negative;        /* numbers and quantities must be at least 0 */
  const char *const *words; /* NULL-terminated */
  const struct hr__field *fields;
  const char *version; /* the only version of the API that has the field; NULL: all have it */
  const char *effect;  /* the field is not modelled: what follows from this; NULL: it is used, or has no effect */
  const char *neutral; /* with this value, a field that is not modelled changes nothing; NULL: none */
};

/* A field that is used, one without effect on decisions, and one that is not modelled. */
#define HR__USED(name_, type_) .name = (name_), .type = HR__FIELD_##type_
#define HR__IGNORED(name_)                                                                                             \
  { .name = (name_), .type = HR__FIELD_ANY }
#define HR__UNMODELLED(name_, effect_)                                                                                 \
  { .name = (name_), .type = HR__FIELD_ANY, .effect = (effect_) }

struct hr__object_kind {
  const char *name;
  const char *group;              /* of the API; "": the core group */
  const char *const *versions;    /* NULL-terminated */
  const struct hr__field *fields; /* besides apiVersion, kind and metadata */
  bool nameless;                  /* a file of settings, which needs no name */
  bool namespaced;
};
extern const struct hr__object_kind hr__kind_config_map;

/* ---- Manifests: objects ----------------------------------------------------------------------------- */

struct hr__object {
  const struct hr__object_kind *kind;
  struct hr__yaml *root;
  const char *name, *name_space; /* name_space: "" for objects without one */
  const char *version;           /* of the API, such as "v1beta1" */
};

/* Values that were found in several places, for one note. */
struct hr__finding {
  const struct hr__field *field;
  char *text; /* without the number of places */
  uint32_t count;
};

/* The objects of all files, in their order. Must be initialized to zero, except the kinds, `notes` and `error`. */
struct hr__objects {
  const struct hr__object_kind *kinds; /* [n_kinds] the kinds that are read, besides ConfigMaps and `nodes` */
  const struct hr__object_kind *nodes; /* hr__kind_node */
  const struct hr__object_kind *bare;  /* of documents without apiVersion and kind; NULL: they are errors */
  size_t n_kinds;
  struct hr_notes *notes;
  struct hr_error *error;
  struct hr__yaml_documents documents;
  struct hr__object *list;
  uint32_t count, capacity;
  struct hr__finding *findings;
  uint32_t n_findings, finding_capacity;
};

/* Reads all files. */
enum hr_status hr__objects_read(struct hr__objects *objects, const char *const *files, size_t n_files);
/* Reads objects from a text within an object, such as a value of a ConfigMap. */
enum hr_status hr__objects_read_text(struct hr__objects *objects, const struct hr__yaml *text);
/* Reads objects from the values of ConfigMaps with one of these keys (NULL-terminated). */
enum hr_status hr__objects_read_maps(struct hr__objects *objects, const char *const *keys);
/* Adds notes on fields that are not modelled and on objects of other kinds. Call it once, after all were read. */
enum hr_status hr__objects_report(struct hr__objects *objects);
void hr__objects_finish(struct hr__objects *objects);

/* The object with a kind and a name; NULL: not found. `name_space` NULL: any. */
const struct hr__object *hr__objects_find(const struct hr__objects *objects, const struct hr__object_kind *kind,
                                          const char *name_space, const char *name);
/* The next object of a kind after `last` (NULL: the first one); NULL: not found. */
const struct hr__object *hr__objects_next(const struct hr__objects *objects, const struct hr__object_kind *kind,
                                          const struct hr__object *last);

/* Finds the only object of a kind; NULL: none. Two are an error. */
enum hr_status hr__objects_only(const struct hr__objects *objects, const struct hr__object_kind *kind,
                                const struct hr__object **only);
/* Returns the name of the parent at a path of an object. Returns NULL: none, or if the name is `root`. If
   `root` is NULL, no name is the root. */
const struct hr__yaml *hr__object_parent(const struct hr__object *object, const char *path, const char *root);
/* Checks that the parents of a queue, which are queues, exist and form no cycle. */
enum hr_status hr__objects_check_parents(const struct hr__objects *objects, const struct hr__object *queue,
                                         const char *path, const char *root);

/* Checks a value against a table as if it were the part `path` of an object. Used for texts within objects. */
enum hr_status hr__objects_check(struct hr__objects *objects, const struct hr__object *object, struct hr__yaml *value,
                                 const char *path, const struct hr__field *fields);

/* Report an error at a value, or add a note about it. The message begins with the place and the object. */
enum hr_status hr__object_fail(const struct hr__objects *objects, const struct hr__object *object,
                               const struct hr__yaml *at, const char *format, ...) HR_PRINTF(4, 5);
enum hr_status hr__object_note(const struct hr__objects *objects, const struct hr__object *object,
                               const struct hr__yaml *at, const char *format, ...) HR_PRINTF(4, 5);
static inline enum hr_status hr__objects_no_memory(const struct hr__objects *objects) {
  return hr_fail(objects->error, HR_NO_MEMORY, "import: out of memory");
}

/* ---- Manifests: values ------------------------------------------------------------------------------ */

/* Reads a quantity in thousandths of the base unit, rounded up. Values that are too large become INT64_MAX. */
static inline bool hr__quantity_milli(const char *text, int64_t *milli) {
  return hr__kueue_quantity(text, true, milli);
}
/* Reads a quantity in the base unit, rounded up. */
static inline bool hr__quantity(const char *text, int64_t *value) {
  return hr__kueue_quantity(text, false, value);
}
/* Reads a duration such as "1h30m", "500ms" or "0". */
bool hr__duration(const char *text, int64_t *us);
/* Whether a scalar is true. */
static inline bool hr__is_true(const struct hr__yaml *scalar) {
  return scalar && (scalar->text[0] == 't' || scalar->text[0] == 'T' || scalar->text[0] == 'y' ||
                    scalar->text[0] == 'Y' || scalar->text[1] == 'n' || scalar->text[1] == 'N');
}

/* ---- Systems ---------------------------------------------------------------------------------------- */

/* A function that reads the configuration files of a system, and adds members to the scenario `root`. */
typedef enum hr_status hr__import_read(const char *const *files, size_t n_files, cJSON *root, struct hr_notes *notes,
                                       struct hr_error *error);

/* The systems. The columns: name, function that reads their configuration. */
#define HR__IMPORT_SYSTEMS(X)                                                                                          \
  X("kueue", hr__import_kueue)                                                                                         \
  X("kai", hr__import_kai)                                                                                             \
  X("volcano", hr__import_volcano)                                                                                     \
  X("kubernetes", hr__import_kubernetes)                                                                               \
  X("slurm", hr__import_slurm)

#define HR__IMPORT_DECLARE(name, read) hr__import_read read;
HR__IMPORT_SYSTEMS(HR__IMPORT_DECLARE)
#undef HR__IMPORT_DECLARE

/* ---- Fields to keys --------------------------------------------------------------------------------- */

/*
 * Copies checked fields of Kubernetes objects to keys of a scenario. All functions accept NULL as the object to which
 * they add, and set `failed` if memory is exhausted, so callers check it once at the end. A field that is missing or
 * null adds nothing.
 */

struct hr__convert {
  struct hr__objects *objects;
  bool failed; /* out of memory */
};

/* Adds `item` with a key to an object or, if `key` is NULL, to a list. */
static inline cJSON *hr__put(struct hr__convert *convert, cJSON *to, const char *key, cJSON *item) {
  bool added = to && item && (key ? cJSON_AddItemToObject(to, key, item) : cJSON_AddItemToArray(to, item));
  if (added) return item;
  cJSON_Delete(item);
  convert->failed = true;
  return NULL;
}

static inline cJSON *hr__put_object(struct hr__convert *convert, cJSON *to, const char *key) {
  return hr__put(convert, to, key, cJSON_CreateObject());
}

static inline cJSON *hr__put_list(struct hr__convert *convert, cJSON *to, const char *key) {
  return hr__put(convert, to, key, cJSON_CreateArray());
}

static inline void hr__put_text(struct hr__convert *convert, cJSON *to, const char *key, const char *text) {
  hr__put(convert, to, key, cJSON_CreateString(text));
}

static inline void hr__put_number(struct hr__convert *convert, cJSON *to, const char *key, double number) {
  hr__put(convert, to, key, cJSON_CreateNumber(number));
}

static inline void hr__put_boolean(struct hr__convert *convert, cJSON *to, const char *key, bool value) {
  hr__put(convert, to, key, cJSON_CreateBool(value));
}

/* Removes a member that is an empty object or list. */
static inline void hr__drop_empty(cJSON *from, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, key);
  if (item && !item->child) cJSON_DeleteItemFromObjectCaseSensitive(from, key);
}

/* Copy the value at a path of an object. */
static inline void hr__copy_text(struct hr__convert *convert, cJSON *to, const char *key, const struct hr__yaml *from,
                                 const char *path) {
  const char *text = hr__yaml_text(from, path);
  if (text && text[0]) hr__put_text(convert, to, key, text);
}

static inline void hr__copy_number(struct hr__convert *convert, cJSON *to, const char *key, const struct hr__yaml *from,
                                   const char *path) {
  const char *text = hr__yaml_text(from, path);
  if (text) hr__put_number(convert, to, key, strtod(text, NULL));
}

static inline void hr__copy_boolean(struct hr__convert *convert, cJSON *to, const char *key,
                                    const struct hr__yaml *from, const char *path) {
  const struct hr__yaml *value = hr__yaml_at(from, path);
  if (value) hr__put_boolean(convert, to, key, hr__is_true(value));
}

/* A duration, in seconds. */
static inline void hr__copy_seconds(struct hr__convert *convert, cJSON *to, const char *key,
                                    const struct hr__yaml *from, const char *path) {
  int64_t us;
  const char *text = hr__yaml_text(from, path);
  if (text && hr__duration(text, &us)) hr__put_number(convert, to, key, (double)us / 1e6);
}

static inline void hr__copy_texts(struct hr__convert *convert, cJSON *to, const char *key, const struct hr__yaml *from,
                                  const char *path) {
  const struct hr__yaml *list = hr__yaml_at(from, path);
  if (!list || !list->count) return;
  cJSON *copy = hr__put_list(convert, to, key);
  for (const struct hr__yaml *entry = list->first; entry; entry = entry->next)
    hr__put_text(convert, copy, NULL, entry->text);
}

/* ---- Pools (nodes.c) -------------------------------------------------------------------------------- */

/*
 * Pools from Kubernetes Nodes. Nodes are in one pool if they have the same GPU type, number of GPUs, sharing of GPUs,
 * CPUs, nearly the same memory (1 %), and the same values of the labels that the scheduler's configuration names. Jobs
 * of a trace have no tolerations, except for taints with the name of a GPU resource, which Kubernetes adds to pods that
 * request this resource (admission plug-in ExtendedResourceToleration).
 */

extern const struct hr__object_kind hr__kind_node;

enum { HR__MAX_NODE_LABELS = 64, HR__MAX_NODE_LEVELS = 16 };

/* The properties of nodes that the configuration uses. Texts are borrowed. */
struct hr__node_interest {
  const char *labels[HR__MAX_NODE_LABELS]; /* keys with values that distinguish pools */
  uint32_t n_labels;
  const char *levels[HR__MAX_NODE_LEVELS]; /* keys of topology levels, widest first, without that of single nodes */
  uint32_t n_levels;
  bool respects_taints; /* leave out nodes with taints that jobs of a trace do not tolerate */
};

/* Adds a key unless the list has it. Further keys are ignored if the list is full. */
void hr__node_interest_add(struct hr__node_interest *interest, const char *key);
/* Adds the levels of a topology: a list (NULL: none) of objects with nodeLabel. The level of hosts is left out. */
void hr__node_interest_levels(struct hr__node_interest *interest, const struct hr__yaml *levels);

/* A pool. */
struct hr__node_pool {
  char name[100];
  const char *gpu;              /* of the catalogue, or as the nodes name it; borrowed */
  const struct hr__yaml *first; /* the first node; NULL: the pool is assumed */
  uint32_t n_nodes, n_gpus;
  int64_t cpu_milli, mem_mib; /* 0: unknown */
  uint32_t replicas;          /* parts of each GPU; 0: GPUs are not shared in time */
  bool mps;
  char layouts[1000];                      /* MIG: layouts of the GPUs, separated by ';'; "": none */
  uint32_t nodes_per_rack, racks_per_zone; /* 0: unknown */
};

/* The pools of a cluster. Must be initialized to zero. */
struct hr__node_pools {
  struct hr_catalog *catalog;
  struct hr__node_pool *list;
  uint32_t count, capacity;
  struct node_in_pool *nodes; /* used while pools are made */
  uint32_t n_nodes, node_capacity;
};

/* Makes the pools of all Nodes. Nodes that are not ready, cannot be scheduled or have no GPUs are left out, with
   notes. Without Node objects there are no pools. */
enum hr_status hr__node_pools_make(struct hr__node_pools *pools, const struct hr__objects *objects,
                                   const struct hr__node_interest *interest);
/* Adds a pool of `gpus` GPUs with unknown nodes. `gpu` is a name of the type. */
enum hr_status hr__node_pools_assume(struct hr__node_pools *pools, const struct hr__objects *objects, const char *name,
                                     const char *gpu, int64_t gpus);
/* Whether the nodes of a pool have all labels of a map (NULL: none). An assumed pool has no labels. */
bool hr__node_pool_has_labels(const struct hr__node_pool *pool, const struct hr__yaml *labels);
void hr__node_pools_finish(struct hr__node_pools *pools);

/* The label of a map that names a GPU type, such as nvidia.com/gpu.product; NULL: none. */
const struct hr__yaml *hr__gpu_label(const struct hr__yaml *labels);

/* Writes cluster.pools, the name of the policy and the section of a system to `root`. `root` then owns the section.
   `status` is the status of the import so far; if it is an error, it is returned, and the pools are not written. */
enum hr_status hr__import_write(struct hr__convert *convert, const struct hr__node_pools *pools, cJSON *root,
                                const char *system, cJSON *section, enum hr_status status);

#endif
