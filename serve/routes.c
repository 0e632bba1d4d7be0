/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of routes. */

#include "serve/routes.h"

#include <string.h>

#define BODY_NAME(name, text) text,
const char *const hr__body_names[HR__N_BODY_MEMBERS] = {HR__BODY_TABLE(BODY_NAME)};
#undef BODY_NAME

#define BIT(name) (1U << HR__BODY_##name)
/* What names a scenario and its trace, and changes both. */
#define INPUT                                                                                                          \
  (BIT(SCENARIO) | BIT(NAME) | BIT(FILE) | BIT(SHIPPED) | BIT(TRACE) | BIT(TRACE_FILE) | BIT(LOAD) | BIT(SET) |        \
   BIT(POLICY) | BIT(SEED))
#define OF_RUNS (INPUT | BIT(REPLICATIONS))

const struct hr__route hr__routes[] = {
    {HR__ROUTE_PAGE, "GET", "/", true, false, 0, "token"},
    {HR__ROUTE_SCRIPT, "GET", "/app.js", true, false, 0, ""},
    {HR__ROUTE_STYLE, "GET", "/app.css", true, false, 0, ""},
    {HR__ROUTE_SCHEMA, "GET", "/api/schema", false, false, 0, ""},
    {HR__ROUTE_CATALOGUE, "GET", "/api/catalogue", false, false, 0, ""},
    {HR__ROUTE_SCENARIOS, "GET", "/api/scenarios", false, false, 0, ""},
    {HR__ROUTE_FILES, "GET", "/api/files", false, false, 0, ""},
    {HR__ROUTE_FILE, "GET", "/api/file", false, false, 0, "path shipped"},
    {HR__ROUTE_TRACE, "POST", "/api/trace", false, false, 0, "name format map lenient shipped"},
    {HR__ROUTE_STOP, "POST", "/api/stop", false, false, 0, "job"},
    {HR__ROUTE_DRAFT, "POST", "/api/draft", false, false,
     BIT(TRACE) | BIT(TRACE_FILE) | BIT(OWN) | BIT(CLOUD) | BIT(GOALS), ""},
    {HR__ROUTE_CHECK, "POST", "/api/check", false, false, INPUT, ""},
    {HR__ROUTE_RUN, "POST", "/api/run", false, false, OF_RUNS | BIT(SERIES), ""},
    {HR__ROUTE_PLAN, "POST", "/api/plan", false, true, INPUT | BIT(BRIEF) | BIT(FORECAST), ""},
    {HR__ROUTE_COMPARE, "POST", "/api/compare", false, false, OF_RUNS | BIT(POLICIES) | BIT(BASELINE), ""},
    {HR__ROUTE_EXPORT, "POST", "/api/export", false, false, OF_RUNS | BIT(POLICIES) | BIT(BRIEF) | BIT(OF) | BIT(AS),
     ""},
};
const size_t hr__n_routes = sizeof hr__routes / sizeof *hr__routes;

const struct hr__route *hr__route_find(const char *method, const char *path, bool *path_exists) {
  *path_exists = false;
  for (size_t i = 0; i < hr__n_routes; i++) {
    if (strcmp(hr__routes[i].path, path) != 0) continue;
    *path_exists = true;
    if (strcmp(hr__routes[i].method, method) == 0) return &hr__routes[i];
  }
  return NULL;
}

bool hr__route_has_query(const struct hr__route *route, const char *name) {
  size_t length = strlen(name);
  for (const char *at = route->query; *at;) {
    size_t word = strcspn(at, " ");
    if (word == length && memcmp(at, name, length) == 0) return true;
    at += word + (at[word] == ' ');
  }
  return false;
}
