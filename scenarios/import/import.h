/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_IMPORT_IMPORT_H
#define HR_SCENARIOS_IMPORT_IMPORT_H

/*
 * Import of the configuration of other schedulers into scenarios. This header declares what the readers of the systems
 * share: YAML files, objects of Kubernetes and their fields, the list of systems, functions that copy fields to keys of
 * the scenario, and pools from Nodes.
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
 * of its fields, with their types and effects. Objects are checked against these tables when they are read:
 *
 *   unknown fields                       a warning with the place; the field is ignored
 *   known fields that are not modelled   a note with the effect, unless the value changes nothing
 *   wrong types, words and bounds, missing fields, wrong API versions, duplicates: an error with the place
 *
 * Code that converts checked objects can rely on the types of their fields.
 */

/* ---- Manifests: YAML (yaml.c) ----------------------------------------------------------------------- */

/*
 * YAML and JSON files as trees. A file may have several documents. Each value has its place in the file, for messages.
 *
 * An alias shares the children of its anchor, so it takes the memory of a single value. The number of values of a
 * document, with all aliases expanded, is limited, so that walks over a tree take bounded time. Merge keys ("<<") are
 * applied.
 */

enum hr__yaml_kind { HR__YAML_SCALAR, HR__YAML_LIST, HR__YAML_MAP };

/* The type of a scalar. Quoted scalars are texts. The type of other scalars depends on their form, as in YAML 1.1. */
enum hr__yaml_type { HR__YAML_TEXT, HR__YAML_NULL, HR__YAML_BOOLEAN, HR__YAML_WHOLE, HR__YAML_REAL };

/* A value. Children are a linked list. */
struct hr__yaml {
  const char *path;              /* of the file; borrowed */
  const char *key;               /* in the map that contains the value; NULL if no map contains it */
  const char *text;              /* of a scalar; "" for lists and maps */
  struct hr__yaml *first, *next; /* first child; next child of the same parent; NULL: none */
  uint32_t line, column;         /* from 1 */
  uint32_t key_line, key_column; /* place of the key; without a key, place of the value */
  uint32_t count;                /* number of children */
  uint32_t weight;               /* number of values of this tree with all aliases expanded; at least 1 */
  uint8_t kind;                  /* enum hr__yaml_kind */
  bool quoted;                   /* the scalar is in quotation marks, or is a block scalar */
  bool block;                    /* the scalar is a block scalar ("|" or ">"): its text begins in the next line */
};

/* The documents of any number of files. Initialize all members to zero for an empty list. */
struct hr__yaml_documents {
  struct hr_arena arena;
  struct hr__yaml **roots;
  uint32_t count, capacity;
};

/* Adds the documents of a file; "-" is standard input. Empty documents are left out. Returns HR_BAD_INPUT if the file
   cannot be read or has an error; the message has the place of the error. Besides syntax errors, these are errors:
   duplicate keys, unknown anchors, aliases of an enclosing value, more than 64 levels, 4,000,000 values or 10,000
   anchors, and more than 20,000 keys in a map. The values keep a pointer to `path`. */
enum hr_status hr__yaml_read(struct hr__yaml_documents *documents, const char *path, struct hr_error *error);
/* Adds the documents of a text, such as a value of a ConfigMap. For messages, `path` is the file that contains the
   text, and `line` the number of its first line. Errors are those of hr__yaml_read. The values keep a pointer to
   `path`, not to `text`. */
enum hr_status hr__yaml_read_text(struct hr__yaml_documents *documents, const char *path, const char *text,
                                  uint32_t line, struct hr_error *error);
/* Frees all documents. The list is empty afterwards. */
void hr__yaml_finish(struct hr__yaml_documents *documents);

enum hr__yaml_type hr__yaml_type_of(const struct hr__yaml *scalar);

/* The following functions return NULL if they find nothing. A value that is null counts as missing. `map` may be NULL,
   and may be a value of any kind. */

/* Returns the child of a map with a key. */
struct hr__yaml *hr__yaml_child(const struct hr__yaml *map, const char *key);
/* Returns the value at a path of keys, separated by '.'. A key that contains a '.' needs hr__yaml_child. */
struct hr__yaml *hr__yaml_at(const struct hr__yaml *map, const char *path);
/* Returns the text of the scalar at a path. */
const char *hr__yaml_text(const struct hr__yaml *map, const char *path);

/* Returns the first child of the value at a path. */
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
  bool required;                  /* the field must exist; lists must have at least one entry */
  bool not_negative;              /* numbers and quantities must be at least 0 */
  const char *const *words;       /* for HR__FIELD_WORD and HR__FIELD_WORDS; NULL-terminated */
  const struct hr__field *fields; /* for HR__FIELD_OBJECT and HR__FIELD_LIST */
  const char *version;            /* the only version of the API that has the field; NULL: all versions have it */
  /* of a field that is not modelled: the effect on decisions; NULL: the field is used or has no effect */
  const char *effect;
  const char *neutral; /* a field that is not modelled changes nothing if it has this value; NULL: no such value */
};

/* HR__USED: a field that is used. HR__IGNORED: a field without effect on decisions. HR__UNMODELLED: a field with an
   effect on decisions that is not modelled. */
#define HR__USED(name_, type_) .name = (name_), .type = HR__FIELD_##type_
#define HR__IGNORED(name_)                                                                                             \
  { .name = (name_), .type = HR__FIELD_ANY }
#define HR__UNMODELLED(name_, effect_)                                                                                 \
  { .name = (name_), .type = HR__FIELD_ANY, .effect = (effect_) }

/* The last row of a table of fields. */
#define HR__END                                                                                                        \
  { .name = NULL }
/* The fields of a Topology. */
extern const struct hr__field hr__topology_fields[];
/* The versions of an API that has only the version v1. */
extern const char *const hr__version_1[];

struct hr__object_kind {
  const char *name;
  const char *group;              /* of the API; "": the core group */
  const char *const *versions;    /* NULL-terminated */
  const struct hr__field *fields; /* besides apiVersion, kind and metadata */
  bool nameless;                  /* objects need no name, such as files of settings */
  bool namespaced;                /* objects belong to a namespace; "default" if they do not state one */
};
extern const struct hr__object_kind hr__kind_config_map;

/* ---- Manifests: objects ----------------------------------------------------------------------------- */

struct hr__object {
  const struct hr__object_kind *kind;
  struct hr__yaml *root;
  const char *name, *name_space; /* name_space: "" for objects without one */
  const char *version;           /* of the API, such as "v1beta1" */
};

/* One note on all values of a field that is not modelled, or on all objects of a kind that is not read. */
struct hr__finding {
  const struct hr__field *field; /* NULL: the finding is about a kind of objects */
  char *text;                    /* the note without the number of places; for a kind, its name */
  uint32_t count;                /* number of values or objects */
};

/* The objects of all files, in the order of the files. The caller sets the kinds, `notes` and `error`, and initializes
   the other members to zero. */
struct hr__objects {
  const struct hr__object_kind *kinds; /* [n_kinds] the kinds that are read, besides ConfigMaps and `nodes` */
  const struct hr__object_kind *nodes; /* hr__kind_node */
  const struct hr__object_kind *bare;  /* kind of documents without apiVersion and kind; NULL: these are errors */
  size_t n_kinds;
  struct hr_notes *notes;
  struct hr_error *error;
  struct hr__yaml_documents documents;
  struct hr__object *list;
  uint32_t count, capacity;
  struct hr__finding *findings;
  uint32_t n_findings, finding_capacity;
};

/* Reads the objects of all files, checks them, and adds them to the list. This function and the next two return
   HR_BAD_INPUT at the first error, with its place. */
enum hr_status hr__objects_read(struct hr__objects *objects, const char *const *files, size_t n_files);
/* Reads, checks and adds the objects of a text within an object, such as a value of a ConfigMap. */
enum hr_status hr__objects_read_text(struct hr__objects *objects, const struct hr__yaml *text);
/* Reads, checks and adds the objects in the values of ConfigMaps that have one of `keys` (NULL-terminated). */
enum hr_status hr__objects_read_maps(struct hr__objects *objects, const char *const *keys);
/* Adds notes on fields that are not modelled, and on objects of kinds that are not read. Must be called once, after all
   objects were read. */
enum hr_status hr__objects_report(struct hr__objects *objects);
/* Frees the objects and their documents. */
void hr__objects_finish(struct hr__objects *objects);

/* Returns the object with a kind and a name; NULL: not found. If `name_space` is NULL, any namespace matches. */
const struct hr__object *hr__objects_find(const struct hr__objects *objects, const struct hr__object_kind *kind,
                                          const char *name_space, const char *name);
/* Returns the next object of a kind after `last`; if `last` is NULL, the first object of this kind. NULL: no further
   object. */
const struct hr__object *hr__objects_next(const struct hr__objects *objects, const struct hr__object_kind *kind,
                                          const struct hr__object *last);

/* Sets `*only` to the only object of a kind; NULL: no such object. Returns HR_BAD_INPUT if there are two or more. */
enum hr_status hr__objects_only(const struct hr__objects *objects, const struct hr__object_kind *kind,
                                const struct hr__object **only);
/* Returns the name of the parent of a queue. `path` is the path of this name in the object of the queue. Returns NULL
   if the queue has no parent, or if its parent is `root`. `root` is the name of the root queue; NULL: no such name. */
const struct hr__yaml *hr__object_parent(const struct hr__object *object, const char *path, const char *root);
/* Checks that all ancestors of a queue exist, and that the queue is not its own ancestor. Returns HR_BAD_INPUT if not.
   `path` and `root` are those of hr__object_parent. */
enum hr_status hr__objects_check_parents(const struct hr__objects *objects, const struct hr__object *queue,
                                         const char *path, const char *root);

/* Checks a value of an object against a table. `path` is the path of the value within the object, for messages. Used
   for values that the table of the object does not describe, such as arguments of plug-ins. */
enum hr_status hr__objects_check(struct hr__objects *objects, const struct hr__object *object, struct hr__yaml *value,
                                 const char *path, const struct hr__field *fields);

/* hr__object_fail reports an error at a value and returns HR_BAD_INPUT. hr__object_note adds a note on a value; it
   returns HR_OK, or HR_NO_MEMORY if memory is exhausted. The message begins with the place of the value and the name of
   the object; `object` may be NULL. */
enum hr_status hr__object_fail(const struct hr__objects *objects, const struct hr__object *object,
                               const struct hr__yaml *at, const char *format, ...) HR_PRINTF(4, 5);
enum hr_status hr__object_note(const struct hr__objects *objects, const struct hr__object *object,
                               const struct hr__yaml *at, const char *format, ...) HR_PRINTF(4, 5);
/* Adds a note that concerns no single value. The only error is HR_NO_MEMORY. */
enum hr_status hr__objects_note(const struct hr__objects *objects, const char *format, ...) HR_PRINTF(2, 3);
/* Reports that memory is exhausted, and returns HR_NO_MEMORY. */
static inline enum hr_status hr__objects_no_memory(const struct hr__objects *objects) {
  return hr_fail(objects->error, HR_NO_MEMORY, "import: out of memory");
}

/* ---- Manifests: values ------------------------------------------------------------------------------ */

/* These functions return false if the text is malformed. */

/* Reads a quantity in thousandths of the base unit, rounded away from 0. Values out of range become INT64_MAX or
   INT64_MIN. */
static inline bool hr__quantity_milli(const char *text, int64_t *milli) {
  return hr__kueue_quantity(text, true, milli);
}
/* Reads a quantity in the base unit, rounded in the same way. */
static inline bool hr__quantity(const char *text, int64_t *value) {
  return hr__kueue_quantity(text, false, value);
}
/* Reads a duration such as "1h30m", "500ms" or "0", in microseconds. The units are ns, us, ms, s, m, h, d and w.
   Returns false also for durations above HR_MAX_INPUT_US. */
bool hr__duration(const char *text, int64_t *us);
/* Returns whether a boolean scalar is true. NULL is false. */
static inline bool hr__is_true(const struct hr__yaml *scalar) {
  return scalar && (scalar->text[0] == 't' || scalar->text[0] == 'T' || scalar->text[0] == 'y' ||
                    scalar->text[0] == 'Y' || scalar->text[1] == 'n' || scalar->text[1] == 'N');
}

static inline bool hr__ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* ---- Systems ---------------------------------------------------------------------------------------- */

/* A function that reads the configuration files of a system, and adds members to the scenario `root`. It adds notes on
   parts of the configuration that the scenario does not model. */
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

/* ---- Pools (nodes.c) -------------------------------------------------------------------------------- */

/*
 * Pools from Kubernetes Nodes. Nodes are in one pool if they have the same GPU type, number of GPUs, sharing of GPUs
 * and number of CPUs, the same values of the labels that the scheduler's configuration names, and memory that differs
 * by at most 1 %.
 *
 * Jobs of a trace have no tolerations, with one exception: they tolerate taints with the name of a GPU resource,
 * because Kubernetes adds this toleration to pods that request the resource (admission plug-in
 * ExtendedResourceToleration).
 */

extern const struct hr__object_kind hr__kind_node;

enum { HR__MAX_NODE_LABELS = 64, HR__MAX_NODE_LEVELS = 16 };

/* The properties of nodes that the configuration uses. Texts are borrowed. */
struct hr__node_interest {
  const char *labels[HR__MAX_NODE_LABELS]; /* keys with values that distinguish pools */
  uint32_t n_labels;
  const char *levels[HR__MAX_NODE_LEVELS]; /* keys of topology levels, widest first, without the level of hosts */
  uint32_t n_levels;
  bool respects_taints; /* leave out nodes with taints that jobs of a trace do not tolerate */
};

/* Adds a key to `labels` if it is new. If the list is full, the key is ignored. */
void hr__node_interest_add(struct hr__node_interest *interest, const char *key);
/* Adds the levels of a topology: a list of objects with the member nodeLabel; NULL: no levels. The level of hosts
   (kubernetes.io/hostname) and levels after the sixteenth are left out. */
void hr__node_interest_levels(struct hr__node_interest *interest, const struct hr__yaml *levels);

struct hr__node_pool {
  char name[100];
  const char *gpu;              /* GPU type of the catalogue; if it is unknown, the name that the nodes use; borrowed */
  const struct hr__yaml *first; /* the first node; NULL: the pool was assumed without Nodes */
  uint32_t n_nodes, n_gpus;     /* n_gpus: GPUs of each node */
  int64_t cpu_milli, mem_mib;   /* of each node; the smallest memory of all nodes; 0: unknown */
  uint32_t replicas;  /* jobs that share each GPU by time-slicing or MPS; 0: GPUs are not shared in this way */
  bool mps;           /* the replicas use MPS instead of time-slicing */
  char layouts[1000]; /* MIG layouts of the GPUs of a node, separated by ';'; "": no MIG */
  uint32_t nodes_per_rack, racks_per_zone; /* 0: unknown */
};

/* The pools of a cluster. Must be initialized to zero. */
struct hr__node_pools {
  struct hr_catalog *catalog;
  struct hr__node_pool *list;
  uint32_t count, capacity;
  struct node_in_pool *nodes; /* [n_nodes] the Nodes with GPUs, for the topology */
  uint32_t n_nodes, node_capacity;
};

/* Makes the pools of all Nodes. Nodes are left out, with a note, if they are not ready, cannot be scheduled, have no
   GPUs or, with `respects_taints`, have taints that jobs do not tolerate. Without Node objects there are no pools.
   Returns HR_BAD_INPUT if there are Nodes and all of them are left out. */
enum hr_status hr__node_pools_make(struct hr__node_pools *pools, const struct hr__objects *objects,
                                   const struct hr__node_interest *interest);
/* Adds a pool of `gpus` GPUs with unknown nodes. A node is assumed to have 8 GPUs or, if `gpus` is not a multiple of 8,
   the largest of 4, 2 and 1 that divides it. `gpu` is a name of the GPU type. The pool has at most 1,000,000 nodes. */
enum hr_status hr__node_pools_assume(struct hr__node_pools *pools, const struct hr__objects *objects, const char *name,
                                     const char *gpu, int64_t gpus);
/* Returns whether the nodes of a pool have all labels of a map. A map that is NULL or empty has no labels, so the
   result is true. The nodes of an assumed pool have no labels. */
bool hr__node_pool_has_labels(const struct hr__node_pool *pool, const struct hr__yaml *labels);
/* Frees the pools and their catalogue. */
void hr__node_pools_finish(struct hr__node_pools *pools);

/* Returns the GPU type of the catalogue that a name means; NULL: none. If the name means several types, returns the
   type with the most memory and sets `*several`. */
const struct hr_gpu_type *hr__gpu_of_name(const struct hr_catalog *catalog, const char *name, bool *several);

/* Returns the label of a map that names a GPU type, such as nvidia.com/gpu.product; NULL: none. */
const struct hr__yaml *hr__gpu_label(const struct hr__yaml *labels);

/* ---- Fields to keys --------------------------------------------------------------------------------- */

/*
 * These functions copy checked fields of Kubernetes objects to keys of a scenario. If memory is exhausted, they set
 * `failed`, which hr__import_write checks at the end. The object to which they add may be NULL, because it may be the
 * result of a call that failed. A field that is missing or null adds nothing.
 */

/* An import of manifests: the objects, and what is made from them. */
struct hr__import {
  struct hr__objects objects;
  struct hr__node_pools pools;
  const char *file; /* the first file, for messages */
  bool failed;      /* out of memory */
  /* members that only some systems use */
  const char *gpu_resource;        /* name of the GPU resource in quotas, such as nvidia.com/gpu */
  bool has_nodes;                  /* the files contain Nodes with GPUs */
  const struct hr__object *config; /* configuration of the scheduler; NULL: none */
  const struct hr__yaml *profile;  /* profile of kube-scheduler; NULL: none */
  cJSON *scheduler;                /* the member `scheduler` of the section */
};

/* Returns the next object of a kind after `last`; if `last` is NULL, the first one. NULL: no further object. `kind` is
   an index in `objects.kinds`. */
static inline const struct hr__object *hr__import_next(const struct hr__import *import, unsigned kind,
                                                       const struct hr__object *last) {
  return hr__objects_next(&import->objects, &import->objects.kinds[kind], last);
}

/* Adds `item` with a key to an object or, if `key` is NULL, to a list. Returns `item`. If memory is exhausted, or `to`
   or `item` is NULL, frees `item` and returns NULL. */
static inline cJSON *hr__put(struct hr__import *import, cJSON *to, const char *key, cJSON *item) {
  bool added = to && item && (key ? cJSON_AddItemToObject(to, key, item) : cJSON_AddItemToArray(to, item));
  if (added) return item;
  cJSON_Delete(item);
  import->failed = true;
  return NULL;
}

/* The following functions add a new value in the same way. hr__put_object and hr__put_list return it. */
static inline cJSON *hr__put_object(struct hr__import *import, cJSON *to, const char *key) {
  return hr__put(import, to, key, cJSON_CreateObject());
}

static inline cJSON *hr__put_list(struct hr__import *import, cJSON *to, const char *key) {
  return hr__put(import, to, key, cJSON_CreateArray());
}

/* Returns the list that is the member `key` of an object. Adds it if it is missing. */
static inline cJSON *hr__list_at(struct hr__import *import, cJSON *object, const char *key) {
  cJSON *list = cJSON_GetObjectItemCaseSensitive(object, key);
  return list ? list : hr__put_list(import, object, key);
}

static inline void hr__put_text(struct hr__import *import, cJSON *to, const char *key, const char *text) {
  hr__put(import, to, key, cJSON_CreateString(text));
}

static inline void hr__put_number(struct hr__import *import, cJSON *to, const char *key, double number) {
  hr__put(import, to, key, cJSON_CreateNumber(number));
}

static inline void hr__put_boolean(struct hr__import *import, cJSON *to, const char *key, bool value) {
  hr__put(import, to, key, cJSON_CreateBool(value));
}

/* Adds an object with a member "name" to a list, and returns it. */
static inline cJSON *hr__put_named(struct hr__import *import, cJSON *list, const char *name) {
  cJSON *object = hr__put_object(import, list, NULL);
  hr__put_text(import, object, "name", name);
  return object;
}

/* Removes a member that is an empty object or list. */
static inline void hr__drop_empty(cJSON *from, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, key);
  if (item && !item->child) cJSON_DeleteItemFromObjectCaseSensitive(from, key);
}

/* The following functions copy the value at a path of an object to the key `key` of `to`. hr__copy_text does not copy
   an empty text. */
static inline void hr__copy_text(struct hr__import *import, cJSON *to, const char *key, const struct hr__yaml *from,
                                 const char *path) {
  const char *text = hr__yaml_text(from, path);
  if (text && text[0]) hr__put_text(import, to, key, text);
}

static inline void hr__copy_number(struct hr__import *import, cJSON *to, const char *key, const struct hr__yaml *from,
                                   const char *path) {
  const char *text = hr__yaml_text(from, path);
  if (text) hr__put_number(import, to, key, strtod(text, NULL));
}

static inline void hr__copy_boolean(struct hr__import *import, cJSON *to, const char *key, const struct hr__yaml *from,
                                    const char *path) {
  const struct hr__yaml *value = hr__yaml_at(from, path);
  if (value) hr__put_boolean(import, to, key, hr__is_true(value));
}

/* Copies a duration, in seconds. */
static inline void hr__copy_seconds(struct hr__import *import, cJSON *to, const char *key, const struct hr__yaml *from,
                                    const char *path) {
  int64_t us;
  const char *text = hr__yaml_text(from, path);
  if (text && hr__duration(text, &us)) hr__put_number(import, to, key, (double)us / 1e6);
}

/* Copies a list of texts. An empty list is not copied. */
static inline void hr__copy_texts(struct hr__import *import, cJSON *to, const char *key, const struct hr__yaml *from,
                                  const char *path) {
  const struct hr__yaml *list = hr__yaml_at(from, path);
  if (!list || !list->count) return;
  cJSON *copy = hr__put_list(import, to, key);
  for (const struct hr__yaml *entry = list->first; entry; entry = entry->next)
    hr__put_text(import, copy, NULL, entry->text);
}

/* Writes cluster.pools, the name of the policy and the section of a system to `root`. `root` then owns the section.
   `status` is the status of the import so far. If it is an error, the pools are not written, and it is returned.
   Otherwise returns HR_OK, or HR_NO_MEMORY if memory was exhausted at any time. */
enum hr_status hr__import_write(struct hr__import *import, cJSON *root, const char *system, cJSON *section,
                                enum hr_status status);

/* How a system is imported from manifests. */
struct hr__manifests {
  const struct hr__object_kind *kinds; /* [n_kinds] */
  size_t n_kinds;
  const struct hr__object_kind *bare; /* see struct hr__objects */
  const char *const *config_keys;     /* keys of ConfigMaps with further objects, NULL-terminated; NULL: none */
  /* writes the scenario after all files were read, and adds notes with hr__objects_report */
  enum hr_status (*write)(struct hr__import *import, cJSON *root);
};
/* Reads the objects of all files, and writes the scenario. */
enum hr_status hr__import_manifests(const struct hr__manifests *manifests, const char *const *files, size_t n_files,
                                    cJSON *root, struct hr_notes *notes, struct hr_error *error);

#endif
