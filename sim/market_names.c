/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words that a person types for markets, spot models and checkpoint policies. */

#include "headroom/market.h"

#define NAME_CASE(name, text)                                                                                          \
  case name:                                                                                                           \
    return text;

const char *hr_market_name(enum hr_market market) {
  switch (market) {
    HR_MARKET_TABLE(NAME_CASE)
  case HR_N_MARKETS:
    break;
  }
  return "";
}

const char *hr_spot_model_name(enum hr_spot_model model) {
  switch (model) {
    HR_SPOT_MODEL_TABLE(NAME_CASE)
  case HR_N_SPOT_MODELS:
    break;
  }
  return "";
}

const char *hr_checkpoint_name(enum hr_checkpoint checkpoint) {
  switch (checkpoint) {
    HR_CHECKPOINT_TABLE(NAME_CASE)
  case HR_N_CHECKPOINTS:
    break;
  }
  return "";
}
