/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The registry of policies: built-in policies, policies in shared objects, aliases of policies, and the values of their
   parameters; and job routers in shared objects. A new alias needs one line in its table; a new policy needs one line
   in its table and a declaration. Orders of the queue policy, which are aliases, too, are listed in
   policies/queue/dispatch.h. The last function checks whether the queue that a job names exists. */

#include "base/process.h"

#include "headroom/policies.h"
#include "headroom/policy.h"
#include "headroom/unstable/systems/systems.h"
#include "policies/kueue/engine.h"
#include "policies/queue/dispatch.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Suggestions ---------------------------------------------------------------------------------- */

/* Joins a NULL-terminated list as "a, b, c". */
static void join_words(const char *const *words, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (; *words && used < size; words++) {
    int written = snprintf(text + used, size - used, "%s%s", used ? ", " : "", *words);
    used += written > 0 ? (size_t)written : 0;
  }
}

/* Writes a suggestion for a mistyped word: "did you mean 'x'? (known: a, b)". */
static void suggest_word(const char *word, const char *const *words, char *text, size_t size) {
  char known[400];
  const char *nearest = hr_nearest_word(word, words);
  join_words(words, known, sizeof known);
  if (nearest)
    snprintf(text, size, "did you mean '%s'? (known: %s)", nearest, known);
  else
    snprintf(text, size, "known: %s", known);
}

/* ---- Values --------------------------------------------------------------------------------------- */

static enum hr_status parse_choice(const struct hr_param *param, const char *text, struct hr_param_value *value,
                                   struct hr_error *error) {
  for (int64_t i = 0; param->choices[i]; i++) {
    if (strcmp(param->choices[i], text) != 0) continue;
    value->integer = i;
    return HR_OK;
  }
  char hint[500];
  suggest_word(text, param->choices, hint, sizeof hint);
  return hr_fail(error, HR_BAD_INPUT, "parameter '%s': '%s' is not one of its choices; %s", param->key, text, hint);
}

static enum hr_status parse_number(const struct hr_param *param, const char *text, struct hr_param_value *value,
                                   struct hr_error *error) {
  bool whole = param->type == HR_PARAM_INTEGER;
  char *end;
  errno = 0;
  double real = strtod(text, &end);
  bool good = end != text && *end == '\0' && errno == 0 && isfinite(real) && real >= param->min && real <= param->max;
  if (whole && good) {
    good = real == floor(real) && fabs(real) <= 0x1p53;
    if (good) value->integer = (int64_t)real;
  }
  value->real = real;
  if (good) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "parameter '%s': '%s' is not a %s from %g to %g", param->key, text,
                 whole ? "whole number" : "number", param->min, param->max);
}

static enum hr_status parse_boolean(const struct hr_param *param, const char *text, struct hr_param_value *value,
                                    struct hr_error *error) {
  bool yes = strcmp(text, "true") == 0, no = strcmp(text, "false") == 0;
  value->integer = yes;
  return yes || no ? HR_OK
                   : hr_fail(error, HR_BAD_INPUT, "parameter '%s': '%s' is not true or false", param->key, text);
}

/* Converts text to a value within the bounds of the parameter. */
static enum hr_status param_parse(const struct hr_param *param, const char *text, struct hr_param_value *value,
                                  struct hr_error *error) {
  switch (param->type) {
  case HR_PARAM_CHOICE:
    return parse_choice(param, text, value, error);
  case HR_PARAM_INTEGER:
  case HR_PARAM_REAL:
    return parse_number(param, text, value, error);
  case HR_PARAM_BOOLEAN:
    return parse_boolean(param, text, value, error);
  }
  return HR_INTERNAL;
}

/* Returns a value as text. A number is written to `buffer`, of at least 32 bytes; other texts are constants. */
static const char *param_text(const struct hr_param *param, const struct hr_param_value *value, char *buffer) {
  switch (param->type) {
  case HR_PARAM_CHOICE:
    return param->choices[value->integer];
  case HR_PARAM_BOOLEAN:
    return value->integer ? "true" : "false";
  case HR_PARAM_INTEGER:
    snprintf(buffer, 32, "%" PRId64, value->integer);
    return buffer;
  case HR_PARAM_REAL:
    /* shortest text that reads back as the same number: 0.8 instead of 0.80000000000000004 */
    for (int digits = 15; digits <= 17; digits++) {
      snprintf(buffer, 32, "%.*g", digits, value->real);
      if (strtod(buffer, NULL) == value->real) break;
    }
    return buffer;
  }
  return "";
}

/* ---- Tables of parameters ------------------------------------------------------------------------ */

/* Sets `*values`, from malloc, to the defaults of all `*count` parameters. The caller frees it, also on failure. */
static enum hr_status params_create(const struct hr_param *params, struct hr_param_value **values, size_t *count,
                                    struct hr_error *error) {
  size_t n = 0;
  while (params && params[n].key) n++;
  *count = n;
  *values = calloc(n + 1, sizeof **values);
  if (!*values) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (size_t i = 0; i < n; i++) {
    enum hr_status status = param_parse(&params[i], params[i].fallback, &(*values)[i], error);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* Returns the parameter with the key; NULL: none has it. */
static const struct hr_param *param_find(const struct hr_param *params, const char *key) {
  while (params && params->key && strcmp(params->key, key) != 0) params++;
  return params && params->key ? params : NULL;
}

/* A table of parameters, and its owner: "policy", "queue". */
struct params_of {
  const char *kind, *name;
  const struct hr_param *params; /* terminated by a NULL key; may be NULL */
};

/* Sets one of the values from text. `error` lists the valid keys or values. */
static enum hr_status params_set(const struct params_of *of, struct hr_param_value *values, const char *key,
                                 const char *text, struct hr_error *error) {
  const struct hr_param *param = param_find(of->params, key);
  if (param) return param_parse(param, text, &values[param - of->params], error);
  size_t n = 0;
  while (of->params && of->params[n].key) n++;
  const char **keys = calloc(n + 1, sizeof(*keys));
  if (!keys) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (size_t i = 0; i < n; i++) keys[i] = of->params[i].key;
  char hint[500];
  suggest_word(key, keys, hint, sizeof hint);
  free(keys);
  return hr_fail(error, HR_BAD_INPUT, "%s '%s' has no parameter '%s'; %s", of->kind, of->name, key, hint);
}

/* ---- Shared objects ------------------------------------------------------------------------------- */

/* A kind of plug-in: its names in messages, and the name of its entry (`symbol`). The entry is a function without
   arguments that returns a pointer to the operations. */
struct plugin_kind {
  const char *name, *plural; /* "policy", "policies" */
  const char *symbol;
  const char *hint; /* how the symbol is defined */
};

/* Returns HR_BAD_INPUT with the path and the text of `inner`. */
static enum hr_status plugin_refuse(const struct plugin_kind *kind, const char *path, const struct hr_error *inner,
                                    struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT, "cannot load %s %.300s: %.400s", kind->name, path, inner->text);
}

static void plugin_close(void *library) {
  if (library) dlclose(library);
}

/* Opens a shared object and sets `*ops` to its operations, which are not yet checked. Returns HR_BAD_INPUT, with
   `*library` NULL, if plug-ins are not allowed or the file does not contain such an entry. */
static enum hr_status plugin_open(const char *path, const struct plugin_kind *kind, void **library, const void **ops,
                                  struct hr_error *error) {
  struct hr_error inner = {0};
  *ops = NULL;
  *library = NULL;
  if (!hr__allows_plugins()) {
    hr_fail(&inner, HR_BAD_INPUT, "%s in shared objects are not allowed here", kind->plural);
    return plugin_refuse(kind, path, &inner, error);
  }
  *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!*library) {
    hr_fail(&inner, HR_BAD_INPUT, "%s", dlerror());
    return plugin_refuse(kind, path, &inner, error);
  }
  const void *(*entry)(void);
  void *symbol = dlsym(*library, kind->symbol);
  memcpy(&entry, &symbol, sizeof entry); /* converts the object pointer of dlsym to a function pointer */
  *ops = symbol ? entry() : NULL;
  if (*ops) return HR_OK;
  hr_fail(&inner, HR_BAD_INPUT, "no symbol '%s'; %s", kind->symbol, kind->hint);
  plugin_close(*library);
  *library = NULL;
  return plugin_refuse(kind, path, &inner, error);
}

/* ---- Policies in shared objects --------------------------------------------------------------------- */

/* The minimum size of struct hr_policy_ops in a shared object: it must contain all required members. */
#define MIN_SIZE (offsetof(struct hr_policy_ops, decide) + sizeof(((struct hr_policy_ops *)0)->decide))

static const struct plugin_kind policy_plugin = {"policy", "policies", "headroom_policy",
                                                 "define the policy with HR_POLICY(name) = {...} of headroom/policy.h"};

static bool is_path(const char *name) {
  return strchr(name, '/') != NULL;
}

static enum hr_status check_ops(const struct hr_policy_ops *ops, struct hr_error *error) {
  if (ops->abi != HR_POLICY_ABI)
    return hr_fail(error, HR_BAD_INPUT, "built for policy interface %u, expected %u; build it again",
                   (unsigned)ops->abi, HR_POLICY_ABI);
  if (ops->size < MIN_SIZE || ops->size > sizeof *ops)
    return hr_fail(error, HR_BAD_INPUT, "its operations have %u bytes (%s), expected %zu to %zu", (unsigned)ops->size,
                   ops->size > sizeof *ops ? "from a newer Headroom" : "too few", MIN_SIZE, sizeof *ops);
  if (!ops->name || !ops->summary || !ops->create || !ops->decide)
    return hr_fail(error, HR_BAD_INPUT, "missing %s",
                   !ops->name      ? "name"
                   : !ops->summary ? "summary"
                   : !ops->create  ? "'create'"
                                   : "'decide'");
  return HR_OK;
}

static enum hr_status load_library(const char *path, void **library, const struct hr_policy_ops **ops,
                                   struct hr_error *error) {
  struct hr_error inner = {0};
  const void *entry;
  enum hr_status status = plugin_open(path, &policy_plugin, library, &entry, error);
  if (status != HR_OK) return status;
  *ops = entry;
  status = check_ops(*ops, &inner);
  if (status == HR_OK) hr__policy_guard_add((*ops)->name);
  if (status == HR_OK) return HR_OK;
  plugin_close(*library);
  *library = NULL;
  return plugin_refuse(&policy_plugin, path, &inner, error);
}

/* ---- Tables of policies -------------------------------------------------------------------------- */

extern const struct hr_policy_ops hr__policy_queue, hr__policy_deadline, hr__policy_gang_slice, hr__policy_rounds,
    hr__policy_kubernetes, hr__policy_volcano, hr__policy_slurm, hr__policy_kai, hr__policy_kueue;

static const struct hr_policy_ops *const policies[] = {
    &hr__policy_queue,   &hr__policy_deadline, &hr__policy_gang_slice, &hr__policy_rounds, &hr__policy_kubernetes,
    &hr__policy_volcano, &hr__policy_slurm,    &hr__policy_kai,        &hr__policy_kueue,  NULL};

const struct hr_policy_ops *const *hr_policies(void) {
  return policies;
}

#define ORDER_SETTING(text, ...) {text, "queue", {{"order", text}}},
static const struct hr_policy_setting settings[] = {HR__ORDERS(ORDER_SETTING){"easy", "queue", {{"backfill", "easy"}}},
                                                    {"conservative", "queue", {{"backfill", "conservative"}}},
                                                    {0}};

const struct hr_policy_setting *hr_policy_settings(void) {
  return settings;
}

const struct hr_policy_setting *hr_policy_setting_find(const char *name) {
  for (const struct hr_policy_setting *at = settings; at->name; at++)
    if (strcmp(at->name, name) == 0) return at;
  return NULL;
}

enum { N_POLICIES = sizeof policies / sizeof *policies - 1, N_SETTINGS = sizeof settings / sizeof *settings - 1 };

/* Returns the built-in policy with the name. NULL: none exists, and `error` suggests the most similar name. */
static const struct hr_policy_ops *find_policy(const char *name, struct hr_error *error) {
  const char *names[N_POLICIES + N_SETTINGS + 1] = {0};
  for (size_t i = 0; i < N_POLICIES; i++) {
    if (strcmp(policies[i]->name, name) == 0) return policies[i];
    names[i] = policies[i]->name;
  }
  for (size_t i = 0; i < N_SETTINGS; i++) names[N_POLICIES + i] = settings[i].name;
  char hint[500];
  suggest_word(name, names, hint, sizeof hint);
  hr_fail(error, HR_BAD_INPUT, "unknown policy '%s'; %s", name, hint);
  return NULL;
}

/* ---- Choices -------------------------------------------------------------------------------------- */

static enum hr_status set_defaults(struct hr_policy_choice *choice, struct hr_error *error) {
  return params_create(choice->ops->params, &choice->params, &choice->n_params, error);
}

enum hr_status hr_policy_choice_init(struct hr_policy_choice *choice, const char *name, struct hr_error *error) {
  *choice = (struct hr_policy_choice){0};
  const struct hr_policy_setting *setting = hr_policy_setting_find(name);
  enum hr_status status = HR_OK;
  if (is_path(name))
    status = load_library(name, &choice->library, &choice->ops, error);
  else if (!(choice->ops = find_policy(setting ? setting->policy : name, error)))
    status = HR_BAD_INPUT;
  if (status == HR_OK) status = set_defaults(choice, error);
  for (const struct hr_policy_value *at = setting ? setting->values : NULL; status == HR_OK && at && at->key; at++)
    status = hr_policy_choice_set(choice, at->key, at->value, error);
  return status;
}

static const struct hr_param *find_param(const struct hr_policy_ops *ops, const char *key) {
  return param_find(ops->params, key);
}

static enum hr_status set_value(struct hr_policy_choice *choice, const char *key, const char *text,
                                struct hr_error *error) {
  const struct params_of of = {"policy", choice->ops->name, choice->ops->params};
  return params_set(&of, choice->params, key, text, error);
}

/* ---- Former parameters: the rules and the change-over time of `deadline` were parameters of `queue` ------------ */

static bool is_rule(const char *text) {
  const char *const *rule = find_param(&hr__policy_deadline, "rule")->choices;
  while (*rule && strcmp(*rule, text) != 0) rule++;
  return *rule;
}

/* Returns whether the key is a former parameter: `market` of `deadline` or `changeover_s` of `queue`. */
static bool is_former(const struct hr_policy_choice *choice, const char *key) {
  if (choice->ops == &hr__policy_queue) return strcmp(key, "changeover_s") == 0;
  return choice->ops == &hr__policy_deadline && strcmp(key, "market") == 0;
}

/* Sets the parameters that both policies have. Values that only one of them supports are ignored. */
static void copy_common(const struct hr_policy_choice *from, struct hr_policy_choice *to) {
  char buffer[32];
  for (const struct hr_param *param = to->ops->params; param->key; param++) {
    const struct hr_param *same = find_param(from->ops, param->key);
    if (!same) continue;
    const char *text = hr_policy_choice_text(from, (size_t)(same - from->ops->params), buffer);
    (void)param_parse(param, text, &to->params[param - to->ops->params], NULL);
  }
}

/* Adds the other policy to a choice of `queue` or `deadline`. */
static enum hr_status add_former(struct hr_policy_choice *choice, struct hr_error *error) {
  struct hr_policy_choice *former = calloc(1, sizeof *former);
  if (!former) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  former->ops = choice->ops == &hr__policy_queue ? &hr__policy_deadline : &hr__policy_queue;
  enum hr_status status = set_defaults(former, error);
  if (status == HR_OK) {
    copy_common(choice, former);
    choice->former = former;
    return HR_OK;
  }
  free(former->params);
  free(former);
  return status;
}

static void swap(struct hr_policy_choice *choice) {
  struct hr_policy_choice was = *choice, *former = choice->former;
  *choice = *former;
  choice->former = former;
  *former = was;
  former->former = NULL;
}

/* Sets a parameter of a choice that has both policies. The value of `market` selects the policy. */
static enum hr_status set_either(struct hr_policy_choice *choice, const char *key, const char *text,
                                 struct hr_error *error) {
  bool is_queue = choice->ops == &hr__policy_queue, is_market = strcmp(key, "market") == 0;
  bool by_deadline = is_market && is_rule(text);
  struct hr_policy_choice *queue = is_queue ? choice : choice->former, *deadline = is_queue ? choice->former : choice;
  bool of_queue = !by_deadline && find_param(queue->ops, key);
  enum hr_status status = set_value(of_queue ? queue : deadline, by_deadline ? "rule" : key, text, error);
  if (status != HR_OK) return status;
  if (of_queue) copy_common(queue, deadline);
  if (is_market && by_deadline == is_queue) swap(choice);
  return HR_OK;
}

bool hr_policy_choice_has(const struct hr_policy_choice *choice, const char *key) {
  if (find_param(choice->ops, key) || is_former(choice, key)) return true;
  return choice->former && find_param(choice->former->ops, key);
}

enum hr_status hr_policy_choice_set(struct hr_policy_choice *choice, const char *key, const char *text,
                                    struct hr_error *error) {
  bool is_either =
      is_former(choice, key) || (choice->ops == &hr__policy_queue && strcmp(key, "market") == 0 && is_rule(text));
  if (!choice->former && !is_either) return set_value(choice, key, text, error);
  enum hr_status status = choice->former ? HR_OK : add_former(choice, error);
  return status == HR_OK ? set_either(choice, key, text, error) : status;
}

const char *hr_policy_choice_text(const struct hr_policy_choice *choice, size_t index, char *buffer) {
  return param_text(&choice->ops->params[index], &choice->params[index], buffer);
}

bool hr_policy_choice_draws(const struct hr_policy_choice *choice) {
  if (choice->ops == &hr__policy_kubernetes) return true; /* among nodes with equal scores */
  for (size_t i = 0; i < choice->n_params && !choice->library; i++) {
    const struct hr_param *param = &choice->ops->params[i];
    if (strcmp(param->key, "carbon_forecast_error") == 0 && choice->params[i].real > 0) return true;
    if (param->type != HR_PARAM_CHOICE || strcmp(param->key, "placement") != 0) continue;
    if (strcmp(param->choices[choice->params[i].integer], "random") == 0) return true;
  }
  return false;
}

/* Returns whether a parameter has the value. False if the policy does not have the parameter. */
static bool has_value(const struct hr_policy_choice *choice, const char *key, const char *value) {
  const struct hr_param *params = choice->ops->params, *param = find_param(choice->ops, key);
  char buffer[32];
  return param && strcmp(hr_policy_choice_text(choice, (size_t)(param - params), buffer), value) == 0;
}

enum hr_elastic_use hr_policy_choice_elastic_use(const struct hr_policy_choice *choice) {
  if (choice->library) return HR_ELASTIC_UNKNOWN;
  bool manages = choice->ops == &hr__policy_deadline;
  if (choice->ops == &hr__policy_kai) manages = has_value(choice, "autoscale", "true");
  if (choice->ops == &hr__policy_queue) manages = !has_value(choice, "market", "static");
  if (choice->ops == &hr__policy_kubernetes || choice->ops == &hr__policy_volcano)
    manages = has_value(choice, "elastic_nodes", "autoscaler");
  if (choice->ops == &hr__policy_rounds) manages = has_value(choice, "objective", "cost-slo");
  return manages ? HR_ELASTIC_WHILE_USED : HR_ELASTIC_ALWAYS;
}

void hr_policy_choice_finish(struct hr_policy_choice *choice) {
  if (choice->former) free(choice->former->params);
  free(choice->former);
  free(choice->params);
  plugin_close(choice->library);
  *choice = (struct hr_policy_choice){0};
}

/* ---- Job routers in shared objects ------------------------------------------------------------------ */

/* The minimum size of struct hr_router_ops in a shared object: it must contain all required members. */
#define MIN_ROUTER_SIZE (offsetof(struct hr_router_ops, choose) + sizeof(((struct hr_router_ops *)0)->choose))

static const struct plugin_kind router_plugin = {"router", "routers", "headroom_router",
                                                 "define the router with HR_ROUTER(name) = {...} of headroom/router.h"};

static enum hr_status check_router(const struct hr_router_ops *ops, struct hr_error *error) {
  if (ops->abi != HR_ROUTER_ABI)
    return hr_fail(error, HR_BAD_INPUT, "built for router interface %u, expected %u; build it again",
                   (unsigned)ops->abi, HR_ROUTER_ABI);
  if (ops->size < MIN_ROUTER_SIZE || ops->size > sizeof *ops)
    return hr_fail(error, HR_BAD_INPUT, "its operations have %u bytes (%s), expected %zu to %zu", (unsigned)ops->size,
                   ops->size > sizeof *ops ? "from a newer Headroom" : "too few", MIN_ROUTER_SIZE, sizeof *ops);
  if (!ops->name || !ops->summary || !ops->choose)
    return hr_fail(error, HR_BAD_INPUT, "missing %s", !ops->name ? "name" : !ops->summary ? "summary" : "'choose'");
  for (const struct hr_param *param = ops->params; param && param->key; param++)
    if (param->type == HR_PARAM_CHOICE)
      return hr_fail(error, HR_BAD_INPUT, "parameter '%s' is a choice; routers have numbers and booleans", param->key);
  return HR_OK;
}

enum hr_status hr_router_choice_init(struct hr_router_choice *choice, const char *path, struct hr_error *error) {
  struct hr_error inner = {0};
  const void *ops;
  *choice = (struct hr_router_choice){0};
  enum hr_status status = plugin_open(path, &router_plugin, &choice->library, &ops, error);
  if (status != HR_OK) return status;
  if (check_router(ops, &inner) != HR_OK) return plugin_refuse(&router_plugin, path, &inner, error);
  choice->ops = ops;
  hr__policy_guard_add(choice->ops->name);
  return params_create(choice->ops->params, &choice->params, &choice->n_params, error);
}

enum hr_status hr_router_choice_set(struct hr_router_choice *choice, const char *key, const char *text,
                                    struct hr_error *error) {
  const struct params_of of = {"router", choice->ops->name, choice->ops->params};
  return params_set(&of, choice->params, key, text, error);
}

void hr_router_choice_finish(struct hr_router_choice *choice) {
  free(choice->params);
  plugin_close(choice->library);
  *choice = (struct hr_router_choice){0};
}

/* ---- Queues of jobs ---------------------------------------------------------------------------------- */

bool hr_policy_has_queue(const struct hr_policy_ops *policy, const struct hr_systems *systems,
                         const struct hr_trace *jobs, hr_job job) {
  const bool is_kueue = systems && systems->kueue && strcmp(policy->name, "kueue") == 0;
  return !is_kueue || hr__kueue_takes(systems->kueue, jobs, job);
}
