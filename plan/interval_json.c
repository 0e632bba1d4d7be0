/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/interval_json.h"

static void put_known(struct hr__json *json, cJSON *object, const char *key, double value) {
  hr__json_number_if(json, object, key, isfinite(value), value);
}

void hr__json_interval(struct hr__json *json, cJSON *object, const struct hr__interval *interval) {
  put_known(json, object, "mean", interval->mean);
  put_known(json, object, "low", interval->low);
  put_known(json, object, "high", interval->high);
  put_known(json, object, "median", interval->median);
  put_known(json, object, "sd", interval->sd);
  hr__json_text(json, object, "interval", interval->of_median ? "order-statistics" : "student");
}
