/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scenario's `alerts`: what it says goes before the defaults, rule by rule and figure by figure. */

#include "scenarios/build/builder.h"

static const char *const keys[HR_N_ALERTS] = {
#define ALERT_KEY(name, text, key) key,
    HR_ALERT_TABLE(ALERT_KEY)
#undef ALERT_KEY
};

/* How long jobs may wait, by class: `above_s` is for all, then what "default" says for those that are not named. */
static enum hr_status build_waits(struct hr__builder *builder, const cJSON *rule, struct hr_alert_rules *rules) {
  const cJSON *classes = hr__build_enter(builder, rule, "classes");
  bool named[HR_N_CLASSES] = {false};
  uint32_t ordinal = 0;
  for (unsigned i = 0; i < HR_N_CLASSES; i++) rules->waiting_us[i] = hr__span_of(rule, "above_s", rules->waiting_us[i]);
  if (!classes) return HR_OK;
  for (const cJSON *member = classes->child; member; member = member->next) {
    unsigned class_ = hr__class_of(member->string);
    hr__place_enter(&builder->place, ordinal++, member->string);
    if (class_ == HR_CLASS_UNKNOWN) return hr__unknown_class(builder, member->string);
    if (class_ < HR_N_CLASSES) named[class_] = true;
    if (class_ < HR_N_CLASSES) rules->waiting_us[class_] = hr__span_of(classes, member->string, 0);
    hr__build_leave(builder);
  }
  for (unsigned i = 0; i < HR_N_CLASSES; i++)
    if (!named[i]) rules->waiting_us[i] = hr__span_of(classes, hr__everyone_else, rules->waiting_us[i]);
  hr__build_leave(builder);
  return HR_OK;
}

static const cJSON *rule_of(const cJSON *alerts, enum hr_alert_rule rule) {
  return cJSON_GetObjectItemCaseSensitive(alerts, keys[rule]);
}

static void build_figures(const cJSON *alerts, struct hr_alert_rules *rules) {
  const cJSON *underused = rule_of(alerts, HR_ALERT_UNDERUSED), *saturated = rule_of(alerts, HR_ALERT_SATURATED);
  const cJSON *reclaims = rule_of(alerts, HR_ALERT_RECLAIMS);
  rules->underused_below = hr__number_of(underused, "below", rules->underused_below);
  rules->underused_for_us = hr__span_of(underused, "for_s", rules->underused_for_us);
  rules->saturated_above = hr__number_of(saturated, "above", rules->saturated_above);
  rules->saturated_for_us = hr__span_of(saturated, "for_s", rules->saturated_for_us);
  rules->reclaims_above = hr__number_of(reclaims, "above", rules->reclaims_above);
  rules->reclaims_within_us = hr__span_of(reclaims, "within_s", rules->reclaims_within_us);
  rules->unsaved_us = hr__span_of(rule_of(alerts, HR_ALERT_UNSAVED), "for_s", rules->unsaved_us);
  rules->budget_above = hr__number_of(rule_of(alerts, HR_ALERT_BUDGET), "above", rules->budget_above);
}

enum hr_status hr__build_alerts(struct hr__builder *builder) {
  struct hr_alert_rules *rules = &builder->scenario->alerts;
  hr_alert_rules_init(rules);
  const cJSON *alerts = hr__build_enter(builder, builder->source.file.tree, "alerts");
  if (!alerts) return HR_OK;
  build_figures(alerts, rules);
  for (unsigned i = 0; i < HR_N_ALERTS; i++) {
    const cJSON *on = cJSON_GetObjectItemCaseSensitive(rule_of(alerts, (enum hr_alert_rule)i), "on");
    rules->is_off[i] = on && cJSON_IsFalse(on);
  }
  const cJSON *waits = hr__build_enter(builder, alerts, keys[HR_ALERT_WAITING]);
  enum hr_status status = waits ? build_waits(builder, waits, rules) : HR_OK;
  if (status == HR_OK && waits) hr__build_leave(builder);
  if (status == HR_OK) hr__build_leave(builder);
  return status;
}
