/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The registry of policies: built-in policies, policies in shared objects, aliases of policies, and the conversion of
   text to parameter values. A new policy or alias needs one line in its table. Orders of the queue policy are listed in
   policies/queue/order/order.h. */

#include "base/confinement.h"
#include "headroom/policies.h"
#include "headroom/policy.h"
#include "policies/queue/order/order.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY "headroom_policy"

/* The minimum size of struct hr_policy_ops in a shared object: it must contain all required members. */
#define MIN_SIZE (offsetof(struct hr_policy_ops, decide) + sizeof(((struct hr_policy_ops *)0)->decide))

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

static enum hr_status refuse(const char *path, const struct hr_error *inner, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT, "cannot load policy %.300s: %.400s", path, inner->text);
}

static void unload_library(void *library) {
  if (library) dlclose(library);
}

static enum hr_status load_library(const char *path, void **library, const struct hr_policy_ops **ops,
                                   struct hr_error *error) {
  struct hr_error inner = {0};
  *ops = NULL;
  *library = NULL;
  if (!hr__allows_plugins()) {
    hr_fail(&inner, HR_BAD_INPUT, "policies in shared objects are not allowed here");
    return refuse(path, &inner, error);
  }
  *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!*library) {
    hr_fail(&inner, HR_BAD_INPUT, "%s", dlerror());
    return refuse(path, &inner, error);
  }
  const struct hr_policy_ops *(*entry)(void);
  void *symbol = dlsym(*library, ENTRY);
  memcpy(&entry, &symbol, sizeof entry); /* converts the object pointer of dlsym to a function pointer */
  *ops = symbol ? entry() : NULL;
  enum hr_status status = HR_OK;
  if (!*ops)
    status = hr_fail(&inner, HR_BAD_INPUT,
                     "no symbol '" ENTRY "'; define the policy with HR_POLICY(name) = {...} of headroom/policy.h");
  if (status == HR_OK) status = check_ops(*ops, &inner);
  if (status == HR_OK) return HR_OK;
  unload_library(*library);
  *library = NULL;
  return refuse(path, &inner, error);
}

/* ---- Tables --------------------------------------------------------------------------------------- */

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
static void suggest(const char *word, const char *const *words, char *text, size_t size) {
  char known[400];
  const char *nearest = hr_nearest_word(word, words);
  join_words(words, known, sizeof known);
  if (nearest)
    snprintf(text, size, "did you mean '%s'? (known: %s)", nearest, known);
  else
    snprintf(text, size, "known: %s", known);
}

/* Returns the built-in policy with the name. NULL: none exists, and `error` suggests the most similar name. */
static const struct hr_policy_ops *find_policy(const char *name, struct hr_error *error) {
  const char *names[N_POLICIES + N_SETTINGS + 1] = {0};
  for (size_t i = 0; i < N_POLICIES; i++) {
    if (strcmp(policies[i]->name, name) == 0) return policies[i];
    names[i] = policies[i]->name;
  }
  for (size_t i = 0; i < N_SETTINGS; i++) names[N_POLICIES + i] = settings[i].name;
  char hint[500];
  suggest(name, names, hint, sizeof hint);
  hr_fail(error, HR_BAD_INPUT, "unknown policy '%s'; %s", name, hint);
  return NULL;
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
  suggest(text, param->choices, hint, sizeof hint);
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

static enum hr_status parse_value(const struct hr_param *param, const char *text, struct hr_param_value *value,
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

/* ---- Choices -------------------------------------------------------------------------------------- */

static size_t count_params(const struct hr_policy_ops *ops) {
  size_t count = 0;
  while (ops->params && ops->params[count].key) count++;
  return count;
}

static enum hr_status set_defaults(struct hr_policy_choice *choice, struct hr_error *error) {
  choice->n_params = count_params(choice->ops);
  choice->params = calloc(choice->n_params + 1, sizeof *choice->params);
  if (!choice->params) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (size_t i = 0; i < choice->n_params; i++) {
    const struct hr_param *param = &choice->ops->params[i];
    enum hr_status status = parse_value(param, param->fallback, &choice->params[i], error);
    if (status != HR_OK) return status;
  }
  return HR_OK;
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
  const struct hr_param *param = ops->params;
  while (param && param->key && strcmp(param->key, key) != 0) param++;
  return param && param->key ? param : NULL;
}

static enum hr_status set_value(struct hr_policy_choice *choice, const char *key, const char *text,
                                struct hr_error *error) {
  const struct hr_param *params = choice->ops->params, *param = find_param(choice->ops, key);
  if (param) return parse_value(param, text, &choice->params[param - params], error);
  const char **keys = calloc(choice->n_params + 1, sizeof(*keys));
  if (!keys) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (size_t i = 0; i < choice->n_params; i++) keys[i] = params[i].key;
  char hint[500];
  suggest(key, keys, hint, sizeof hint);
  free(keys);
  return hr_fail(error, HR_BAD_INPUT, "policy '%s' has no parameter '%s'; %s", choice->ops->name, key, hint);
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
    (void)parse_value(param, text, &to->params[param - to->ops->params], NULL);
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
  const struct hr_param *param = &choice->ops->params[index];
  const struct hr_param_value *value = &choice->params[index];
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
  unload_library(choice->library);
  *choice = (struct hr_policy_choice){0};
}
