/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SERVE_ROUTES_H
#define HR_SERVE_ROUTES_H

/* The routes of the server and the members of their bodies: one table, which docs/reference/openapi.json describes. A
   test compares both. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Routes from HR__ROUTE_TRACE on are answered by workers. */
enum hr__route_id {
  HR__ROUTE_PAGE,
  HR__ROUTE_SCRIPT,
  HR__ROUTE_STYLE,
  HR__ROUTE_SCHEMA,
  HR__ROUTE_CATALOGUE,
  HR__ROUTE_SCENARIOS,
  HR__ROUTE_FILES,
  HR__ROUTE_FILE,
  HR__ROUTE_STOP,
  HR__ROUTE_TRACE,
  HR__ROUTE_DRAFT,
  HR__ROUTE_CHECK,
  HR__ROUTE_RUN,
  HR__ROUTE_PLAN,
  HR__ROUTE_COMPARE,
  HR__ROUTE_EXPORT
};

/* Members of a body. The columns: enumerator, name. */
#define HR__BODY_TABLE(X)                                                                                              \
  X(SCENARIO, "scenario")                                                                                              \
  X(NAME, "name")                                                                                                      \
  X(FILE, "file")                                                                                                      \
  X(SHIPPED, "shipped")                                                                                                \
  X(TRACE, "trace")                                                                                                    \
  X(TRACE_FILE, "trace_file")                                                                                          \
  X(LOAD, "load")                                                                                                      \
  X(SET, "set")                                                                                                        \
  X(POLICY, "policy")                                                                                                  \
  X(SEED, "seed")                                                                                                      \
  X(REPLICATIONS, "replications")                                                                                      \
  X(SERIES, "series")                                                                                                  \
  X(POLICIES, "policies")                                                                                              \
  X(BASELINE, "baseline")                                                                                              \
  X(BRIEF, "brief")                                                                                                    \
  X(FORECAST, "forecast")                                                                                              \
  X(OWN, "own")                                                                                                        \
  X(CLOUD, "cloud")                                                                                                    \
  X(GOALS, "goals")                                                                                                    \
  X(OF, "of")                                                                                                          \
  X(AS, "as")

#define HR__BODY_ENUM(name, text) HR__BODY_##name,
enum hr__body_member { HR__BODY_TABLE(HR__BODY_ENUM) HR__N_BODY_MEMBERS };
#undef HR__BODY_ENUM
extern const char *const hr__body_names[HR__N_BODY_MEMBERS];

struct hr__route {
  enum hr__route_id id;
  const char *method, *path;
  bool is_public;    /* needs no token: the page itself, which has no data */
  bool streams;      /* answers with server-sent events */
  uint32_t members;  /* bits of enum hr__body_member: what the body may have */
  const char *query; /* names of parameters in the address, separated by spaces; "": none */
};

extern const struct hr__route hr__routes[];
extern const size_t hr__n_routes;

/* Finds the route of a request. NULL: `*path_exists` says whether the path has another method. */
const struct hr__route *hr__route_find(const char *method, const char *path, bool *path_exists);

/* Whether the parameter `name` may be in the address of a request for the route. */
bool hr__route_has_query(const struct hr__route *route, const char *name);

#endif
