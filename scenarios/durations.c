/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lengths of time that are drawn: each distribution has the parameters that its textbook form has, all of them wanted
   and no other. */

#include "scenarios/pools.h"

#include <string.h>

enum { MOST_PARAMETERS = 2 };

static const struct shape {
  const char *name;
  enum hr_duration_kind kind;
  const char *parameters[MOST_PARAMETERS + 1];
} shapes[] = {{"fixed", HR_DURATION_FIXED, {"mean_s"}},
              {"exponential", HR_DURATION_EXPONENTIAL, {"mean_s"}},
              {"log-normal", HR_DURATION_LOG_NORMAL, {"mu", "sigma"}},
              {"weibull", HR_DURATION_WEIBULL, {"shape", "scale_s"}}};

static const struct shape *shape_of(const cJSON *object) {
  const char *name = hr__text_of(object, "distribution", "fixed");
  const struct shape *shape = shapes;
  while (strcmp(shape->name, name) != 0) shape++; /* the table of keys knows no other words */
  return shape;
}

static bool has_parameter(const struct shape *shape, const char *name) {
  for (size_t i = 0; shape->parameters[i]; i++)
    if (strcmp(shape->parameters[i], name) == 0) return true;
  return false;
}

static enum hr_status check_parameters(struct hr__builder *builder, const cJSON *object, const struct shape *shape) {
  const char *second = shape->parameters[1];
  for (size_t i = 0; shape->parameters[i]; i++)
    if (!hr__has(object, shape->parameters[i]))
      return hr__build_fail(builder, false, "a distribution '%s' needs '%s'%s%s%s", shape->name, shape->parameters[0],
                            second ? " and '" : "", second ? second : "", second ? "'" : "");
  for (const cJSON *member = object->child; member; member = member->next)
    if (strcmp(member->string, "distribution") != 0 && !has_parameter(shape, member->string))
      return hr__build_fail_at(builder, object, member->string,
                               "'%s' is no parameter of the distribution '%s'; '%s'%s%s%s wanted", member->string,
                               shape->name, shape->parameters[0], second ? " and '" : "", second ? second : "",
                               second ? "' are" : " is");
  return HR_OK;
}

enum hr_status hr__build_duration(struct hr__builder *builder, const cJSON *object, const char *name,
                                  struct hr_duration *duration) {
  const cJSON *member = hr__build_enter(builder, object, name);
  if (!member) return HR_OK;
  const struct shape *shape = shape_of(member);
  enum hr_status status = check_parameters(builder, member, shape);
  if (status != HR_OK) return status;
  *duration = (struct hr_duration){.kind = shape->kind, .a = hr__number_of(member, shape->parameters[0], 0)};
  if (shape->parameters[1]) duration->b = hr__number_of(member, shape->parameters[1], 0);
  hr__build_leave(builder);
  return HR_OK;
}
