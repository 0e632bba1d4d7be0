/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of routes and docs/reference/openapi.json list the same paths, methods, parameters and members. */

#include "harness.h"
#include "serve/serve.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <string.h>

static cJSON *read_document(void) {
  FILE *file = fopen(PROJECT_DIR "/docs/reference/openapi.json", "rb");
  static char text[1 << 17];
  CU_ASSERT_FATAL(file != NULL);
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = '\0';
  cJSON *document = cJSON_Parse(text);
  CU_ASSERT_FATAL(document != NULL);
  return document;
}

static const cJSON *at(const cJSON *value, const char *const *keys) {
  for (; value && *keys; keys++) value = cJSON_GetObjectItemCaseSensitive(value, *keys);
  return value;
}

static const cJSON *operation_of(const cJSON *document, const struct hr__route *route) {
  char method[8] = "";
  for (size_t i = 0; route->method[i] && i < sizeof method - 1; i++)
    method[i] = (char)tolower((unsigned char)route->method[i]);
  const char *const keys[] = {"paths", route->path, method, NULL};
  return at(document, keys);
}

static void check_members(const struct hr__route *route, const cJSON *operation) {
  static const char *const keys[] = {"requestBody", "content", "application/json", "schema", "properties", NULL};
  const cJSON *properties = at(operation, keys);
  for (unsigned i = 0; i < HR__N_BODY_MEMBERS; i++) {
    bool accepted = (route->members >> i & 1U) != 0;
    bool described = cJSON_GetObjectItemCaseSensitive(properties, hr__body_names[i]) != NULL;
    if (accepted != described) printf("\n  %s: the member '%s' differs\n", route->path, hr__body_names[i]);
    CU_ASSERT(accepted == described);
  }
  int count = 0;
  for (unsigned i = 0; i < HR__N_BODY_MEMBERS; i++) count += (route->members >> i & 1U) != 0;
  CU_ASSERT_EQUAL(properties ? cJSON_GetArraySize(properties) : 0, count);
}

static void check_query(const struct hr__route *route, const cJSON *operation) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(operation, "parameters");
  size_t words = route->query[0] != '\0';
  for (const char *c = route->query; *c; c++) words += *c == ' ';
  CU_ASSERT_EQUAL((size_t)cJSON_GetArraySize(list), words);
  for (const cJSON *item = list ? list->child : NULL; item; item = item->next)
    CU_ASSERT(hr__route_has_query(route, cJSON_GetObjectItemCaseSensitive(item, "name")->valuestring));
}

static void every_route_is_described(void) {
  cJSON *document = read_document();
  for (size_t i = 0; i < hr__n_routes; i++) {
    const struct hr__route *route = &hr__routes[i];
    const cJSON *operation = operation_of(document, route);
    if (!operation) printf("\n  %s %s is not described\n", route->method, route->path);
    CU_ASSERT_FATAL(operation != NULL);
    check_members(route, operation);
    check_query(route, operation);
    static const char *const stream[] = {"responses", "200", "content", "text/event-stream", NULL};
    CU_ASSERT(route->streams == (at(operation, stream) != NULL));
    const cJSON *security = cJSON_GetObjectItemCaseSensitive(operation, "security");
    CU_ASSERT(route->is_public == (cJSON_IsArray(security) && cJSON_GetArraySize(security) == 0));
  }
  cJSON_Delete(document);
}

static void nothing_else_is_described(void) {
  cJSON *document = read_document();
  const cJSON *paths = cJSON_GetObjectItemCaseSensitive(document, "paths");
  for (const cJSON *path = paths->child; path; path = path->next)
    for (const cJSON *method = path->child; method; method = method->next) {
      char name[8] = "";
      bool exists;
      for (size_t i = 0; method->string[i] && i < sizeof name - 1; i++)
        name[i] = (char)toupper((unsigned char)method->string[i]);
      if (!hr__route_find(name, path->string, &exists)) printf("\n  no route %s %s\n", name, path->string);
      CU_ASSERT(hr__route_find(name, path->string, &exists) != NULL);
    }
  cJSON_Delete(document);
}

static void routes_are_found(void) {
  bool exists;
  CU_ASSERT(hr__route_find("POST", "/api/run", &exists) != NULL && exists);
  CU_ASSERT(hr__route_find("GET", "/api/run", &exists) == NULL && exists);
  CU_ASSERT(hr__route_find("GET", "/api/../run", &exists) == NULL && !exists);
  const struct hr__route *file = hr__route_find("GET", "/api/file", &exists);
  CU_ASSERT(hr__route_has_query(file, "path") && hr__route_has_query(file, "shipped"));
  CU_ASSERT(!hr__route_has_query(file, "ship") && !hr__route_has_query(file, ""));
}

TEST_MAIN("serve: routes", TEST(every_route_is_described), TEST(nothing_else_is_described), TEST(routes_are_found))
