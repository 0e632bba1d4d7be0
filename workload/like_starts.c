/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A Poisson process whose rate is constant within each hour, given how many campaigns each week has: as many as it
 * should, to a whole number, what is over being the next week's. The rate is the band's, times the factors of the week,
 * the weekday and the hour, times the day's own, which is log-normal and goes with the day's before; of each week these
 * are scaled so that the week keeps its own factor. Time is told in units, in each of which one campaign should come,
 * and within a week campaigns are anywhere among its units: the next one is the least of those that are left.
 */

#include "workload/like_draw.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

enum { HOUR_S = 3600, HOURS_OF_DAY = 24, HOURS_OF_WEEK = HOURS_OF_DAY * HR__LIKE_DAYS, MOST_WEEKS = 104000 };

static const double most_of_week = 1e18;

static void draw_week(struct hr__starts *starts) {
  const struct hr_like_band *band = starts->band;
  double spread = sqrt(log(1 + band->day_variance)), link = band->day_correlation, sum = 0;
  for (uint32_t day = 0; day < HR__LIKE_DAYS; day++) {
    double fresh = gsl_cdf_ugaussian_Pinv(hr__stream_uniform(&starts->days));
    starts->day_score = link * starts->day_score + sqrt(1 - link * link) * fresh;
    starts->factors[day] = starts->model->weekdays[day] * exp(spread * starts->day_score);
    sum += starts->factors[day];
  }
  for (uint32_t day = 0; day < HR__LIKE_DAYS && sum > 0; day++) starts->factors[day] *= HR__LIKE_DAYS / sum;
}

/* Campaigns a second in the hour at hand. */
static double rate_of(const struct hr__starts *starts) {
  int64_t hour = starts->hour;
  double week = starts->band->weeks[hr__week_of(starts->model, starts->warm_weeks, hour / HOURS_OF_WEEK)];
  return starts->per_day / (HOUR_S * HOURS_OF_DAY) * week * starts->factors[hour / HOURS_OF_DAY % HR__LIKE_DAYS] *
         starts->model->hours[hour % HOURS_OF_DAY];
}

static void begin_week(struct hr__starts *starts) {
  double of_days = 0, of_hours = 0;
  draw_week(starts);
  for (uint32_t day = 0; day < HR__LIKE_DAYS; day++) of_days += starts->factors[day];
  for (uint32_t hour = 0; hour < HOURS_OF_DAY; hour++) of_hours += starts->model->hours[hour];
  double week = starts->band->weeks[hr__week_of(starts->model, starts->warm_weeks, starts->hour / HOURS_OF_WEEK)];
  starts->units = starts->per_day / HOURS_OF_DAY * week * of_days * of_hours;
  starts->passed = 0;
  starts->owed += starts->units;
  starts->left = (uint64_t)fmin(starts->owed, most_of_week);
  starts->owed -= (double)starts->left;
}

/* From the last campaign, or the begin of the week, to the next, of a week that gets one more at least. */
static double next_units(struct hr__starts *starts) {
  double beyond = pow(hr__stream_uniform(&starts->arrivals), 1.0 / (double)starts->left--);
  double units = (starts->units - starts->passed) * (1 - beyond);
  starts->passed += units;
  return units;
}

/* The first hour of the next week that gets any, after weeks that get none; false where none of the next 2,000 years
   does. */
static bool pass_weeks(struct hr__starts *starts) {
  starts->hour -= starts->hour % HOURS_OF_WEEK;
  for (uint32_t week = 0; week < MOST_WEEKS; week++) {
    starts->hour += HOURS_OF_WEEK;
    begin_week(starts);
    if (starts->left > 0) break;
  }
  starts->next_s = (double)starts->hour * HOUR_S;
  return starts->left > 0;
}

void hr__starts_advance(struct hr__starts *starts) {
  if (starts->left == 0 && !pass_weeks(starts)) {
    starts->next_s = HUGE_VAL;
    return;
  }
  double units = next_units(starts);
  for (;;) {
    double rate = rate_of(starts), left_s = (double)(starts->hour + 1) * HOUR_S - starts->next_s;
    if (rate > 0 && rate * left_s >= units) {
      starts->next_s += units / rate;
      return;
    }
    units -= rate * left_s;
    starts->next_s = (double)(starts->hour + 1) * HOUR_S;
    if ((starts->hour + 1) % HOURS_OF_WEEK == 0) return; /* the week's last, but for rounding */
    starts->hour++;
  }
}

void hr__starts_init(struct hr__starts *starts, const struct hr_like_model *model, uint32_t band, double per_day,
                     uint32_t warm_weeks, uint64_t seed) {
  *starts =
      (struct hr__starts){.model = model, .band = &model->bands[band], .per_day = per_day, .warm_weeks = warm_weeks};
  hr__stream_init(&starts->arrivals, seed, HR__PURPOSE_LIKE_ARRIVAL, band, 0);
  hr__stream_init(&starts->days, seed, HR__PURPOSE_LIKE_DAY, band, 0);
  starts->day_score = gsl_cdf_ugaussian_Pinv(hr__stream_uniform(&starts->days));
  starts->owed = hr__stream_uniform(&starts->arrivals);
  begin_week(starts);
  hr__starts_advance(starts);
}
