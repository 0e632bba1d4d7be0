/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `carbon`, `energy_price` and `wue_l_per_kwh`: files of several formats, stored values, and the place of each error.
 */

#include "headroom/unstable/series.h"
#include "loading.h"

#include <stdio.h>
#include <string.h>

#define HOUR_US (3600 * HR_SECOND_US)
#define SHARED PROJECT_DIR "/../shared"
#define HEAD                                                                                                           \
  "{\"policy\":{\"name\":\"queue\"},\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"T4\",\"nodes\":4,"               \
  "\"gpus_per_node\":2"
#define CARBON(members) HEAD ",\n\"carbon\":{" members "}}]}}"
#define SERIES(members) CARBON("\"file\":\"series.csv\"" members)

static void write_series(const char *text) {
  FILE *file = fopen("series.csv", "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  fclose(file);
}

static const struct hr_electricity *electricity_of(const struct hr_scenario *scenario, uint32_t pool) {
  CU_ASSERT_FATAL(scenario->cluster.n_pools > pool && scenario->cluster.pools[pool].electricity != NULL);
  return scenario->cluster.pools[pool].electricity;
}

/* ---- Formats ---- */

/* 2022-01-01T00:00Z */
#define NEW_YEAR_US (INT64_C(1640995200) * HR_SECOND_US)

static void check_two_hours(const char *text, const char *members, int64_t first, int64_t second) {
  char scenario_text[600];
  write_series(text);
  snprintf(scenario_text, sizeof scenario_text, SERIES("%s"), members);
  write_text(scenario_text);
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_series *series = electricity_of(scenario, 0)->carbon;
  CU_ASSERT_EQUAL(hr_series_first_us(series), NEW_YEAR_US);
  CU_ASSERT_EQUAL(hr_series_end_us(series), NEW_YEAR_US + 2 * HOUR_US);
  CU_ASSERT_EQUAL(hr_series_at(series, NEW_YEAR_US), first);
  CU_ASSERT_EQUAL(hr_series_at(series, NEW_YEAR_US + HOUR_US), second);
  hr_scenario_destroy(scenario);
}

static void formats_are_read(void) {
  /* Electricity Maps, one column per zone; hours without minutes */
  check_two_hours("time_utc,DE,FR\n2022-01-01T00,213.79,1\n2022-01-01T01,218.0,1\n", ",\"zone\":\"DE\"", 213790000,
                  218000000);
  /* Electricity Maps, a row per zone */
  check_two_hours("Datetime (UTC),Zone Id,Carbon intensity gCO2eq/kWh (direct)\n2022-01-01 00:00:00,DE,5\n"
                  "2022-01-01 00:00:00,FR,6\n2022-01-01 01:00:00,DE,7\n2022-01-01 01:00:00,FR,8\n",
                  ",\"zone\":\"FR\"", 6000000, 8000000);
  /* GAIA */
  check_two_hours("time_utc,carbon_intensity\n2022-01-01 00:00:00,96.14\n2022-01-01 01:00:00,99.13\n", "", 96140000,
                  99130000);
  /* OpenDC: milliseconds, and more digits than are stored */
  check_two_hours("timestamp,carbon_intensity\n2022-01-01T00:00:00.000Z,29.001127704967995\n"
                  "2022-01-01T01:00:00.000Z,28.864618709478233\n",
                  "", 29001128, 28864619);
  /* WattTime in its own unit; an offset is converted to UTC */
  check_two_hours("point_time,MOER\n2022-01-01T01:00:00+01:00,1000\n2022-01-01T02:00:00+01:00,0\n",
                  ",\"unit\":\"lb/MWh\",\"signal\":\"marginal\"", 453592370, 0);
  /* Let's Wait Awhile: an empty value in the last row ends the series */
  check_two_hours("time_utc,DE\n2022-01-01 00:00:00,353.319875\n2022-01-01 01:00:00,351\n2022-01-01 02:00:00,\n", "",
                  353319875, 351000000);
  /* the user states that stamps are in UTC */
  check_two_hours("x,y\n2022-01-01 00:00:00,1\n2022-01-01 01:00:00,2\n", ",\"utc\":true", 1000000, 2000000);
  /* windows line ends, comments and quotes */
  check_two_hours("# source\r\n\"time_utc\",\"y\"\r\n\"2022-01-01 00:00\",\"1\"\r\n2022-01-01 01:00,2\r\n", "", 1000000,
                  2000000);
}

static void gaps_can_be_held(void) {
  write_series("time_utc,v\n2022-01-01T00,1\n2022-01-01T01,2\n2022-01-01T03,4\n");
  write_text(SERIES(",\"gaps\":\"hold\",\"after\":\"repeat\""));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_series *series = electricity_of(scenario, 0)->carbon;
  CU_ASSERT_EQUAL(hr_series_at(series, NEW_YEAR_US + 2 * HOUR_US), 2000000);
  CU_ASSERT_EQUAL(hr_series_end_us(series), NEW_YEAR_US + 5 * HOUR_US);
  CU_ASSERT_EQUAL(hr_series_at(series, NEW_YEAR_US + 6 * HOUR_US), 2000000);
  hr_scenario_destroy(scenario);
}

/* Writes the quarter-hours of the day `date`. Until `hour`, stamps have the UTC offset `before`, then `after`, in
   hours. `missing`: the index of a quarter-hour that is omitted. */
static void write_quarters(const char *date, int hour, int before, int after, int missing) {
  FILE *file = fopen("series.csv", "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs("time,v\n", file);
  const int quarters = 4 * (24 + before - after);
  for (int i = 0; i < quarters; i++) {
    const int offset = i < 4 * hour ? before : after, local = i + 4 * (offset - before);
    if (i != missing) fprintf(file, "%sT%02d:%02d+%02d:00,%d\n", date, local / 4, local % 4 * 15, offset, i);
  }
  fclose(file);
}

/* With daylight saving time, a day has 92 or 100 quarter-hours. Stamps with offsets are instants, so the step is the
   same on all days. If one quarter-hour is missing, the day has a gap. */
static void days_of_23_and_25_hours(void) {
  static const struct {
    const char *date;
    int before, after;
    int64_t begin_us;
  } days[] = {{"2022-03-27", 1, 2, INT64_C(1648335600) * HR_SECOND_US},
              {"2022-10-30", 2, 1, INT64_C(1667080800) * HR_SECOND_US}};
  for (size_t i = 0; i < 2; i++) {
    const int64_t quarter_us = HOUR_US / 4, count = i == 0 ? 92 : 100;
    write_quarters(days[i].date, i == 0 ? 2 : 3, days[i].before, days[i].after, -1);
    write_text(SERIES(""));
    struct hr_scenario *scenario = load(NULL, 0);
    const struct hr_series *series = electricity_of(scenario, 0)->carbon;
    CU_ASSERT_EQUAL(hr_series_first_us(series), days[i].begin_us);
    CU_ASSERT_EQUAL(hr_series_end_us(series), days[i].begin_us + count * quarter_us);
    for (int64_t k = 0; k < count; k++)
      CU_ASSERT_EQUAL(hr_series_at(series, days[i].begin_us + k * quarter_us), k * 1000000);
    hr_scenario_destroy(scenario);
    write_quarters(days[i].date, i == 0 ? 2 : 3, days[i].before, days[i].after, 50);
    expect_error(NULL, 0, "series.csv:52: a gap: 30 min line 51; expected stamps every 15 min...");
  }
}

/* ---- Keys ---- */

static void keys_are_stored(void) {
  write_series("time_utc,v\n2022-01-01T00,-30.5\n2022-01-01T01,60\n");
  write_text(HEAD
             "},{\"name\":\"q\",\"gpu\":\"T4\",\"nodes\":1,\"gpus_per_node\":1,\"carbon\":{\"g_per_kwh\":100},"
             "\"wue_l_per_kwh\":0.27}],\"wue_l_per_kwh\":1.8,"
             "\"energy_price\":{\"file\":\"series.csv\",\"unit\":\"USD/MWh\",\"start\":\"2022-01-01T02:00+01:00\"},"
             "\"carbon\":{\"g_per_kwh\":0.5,\"embodied_kg_per_gpu\":164,\"life_h\":1000}}}");
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_electricity *p = electricity_of(scenario, 0), *q = electricity_of(scenario, 1);
  CU_ASSERT(hr_series_at(p->carbon, 0) == 500000 && hr_series_at(q->carbon, 0) == 100000000);
  CU_ASSERT(p->embodied_ug == INT64_C(164000000000) && p->life_us == 1000 * HOUR_US && q->embodied_ug == 0);
  CU_ASSERT(p->water_ul_kwh == 1800000 && q->water_ul_kwh == 270000);
  CU_ASSERT(p->price != NULL && p->price == q->price); /* read once */
  CU_ASSERT_EQUAL(hr_series_at(p->price, NEW_YEAR_US), -30500);
  CU_ASSERT(p->price_start_us == NEW_YEAR_US + HOUR_US && p->carbon_start_us == HR_NEVER_US);
  CU_ASSERT(p->signal == HR_CARBON_AVERAGE);
  hr_scenario_destroy(scenario);
}

static void nothing_is_known_without_keys(void) {
  write_text(HEAD "}]}}");
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_PTR_NULL(scenario->cluster.pools[0].electricity);
  CU_ASSERT_PTR_NULL(scenario->electricity);
  hr_scenario_destroy(scenario);
}

static void errors_have_a_place(void) {
  static const char *const cases[][2] = {
      {CARBON(""), "s.json:2:10: 'carbon' has no carbon intensity; set 'file' or 'g_per_kwh'"},
      {CARBON("\"g_per_kwh\":1,\"file\":\"series.csv\""), "s.json:2:23: 'file' and 'g_per_kwh' exclude each other..."},
      {CARBON("\"g_per_kwh\":-1"),
       "s.json:2:23: 'cluster.pools.0.carbon.g_per_kwh' is the number -1; a number from 0 to 1000000..."},
      {CARBON("\"g_per_kwh\":1,\"start\":\"2022-01-01T00:00\""),
       "s.json:2:33: '2022-01-01T00:00' is not an instant..."},
      {HEAD ",\n\"energy_price\":{}}]}}", "s.json:2:16: 'energy_price' has no price..."},
      {HEAD ",\"carbon\":{\"g_per_kwh\":1}},{\"name\":\"q\",\"gpu\":\"T4\",\"nodes\":1,\"gpus_per_node\":1,\"carbon\":"
            "{\"g_per_kwh\":1,\"signal\":\"marginal\"}}]}}",
       "s.json:1:47: 'p' average 'q' marginal..."},
      {CARBON("\"file\":\"none.csv\""), "none.csv: cannot be read..."},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(cases[i][0]);
    expect_error(NULL, 0, cases[i][1]);
  }
}

static void errors_of_files_have_a_line(void) {
#define TWO "time_utc,v\n2022-01-01T00,1\n2022-01-01T01,2\n"
  static const char *const cases[][2] = {
      {TWO "2022-01-01T03,4\n", "series.csv:4: a gap: 120 min line 3; expected stamps every 60 min..."},
      {TWO "2022-01-01T01,4\n", "series.csv:4: the stamp is that of line 3 again; expected is one value per stamp..."},
      {TWO "2022-01-01T00,4\n", "series.csv:4: the stamp is earlier than that of line 3; expected ascending..."},
      {TWO "2022-01-01T02,\n2022-01-01T03,4\n",
       "series.csv:4: the value is missing; expected is a carbon intensity..."},
      /* every second value */
      {"time_utc,v\n2022-01-01T00,1\n2022-01-01T01,\n2022-01-01T02,4\n2022-01-01T03,\n2022-01-01T04,4\n",
       "series.csv:3: the value is missing; expected is a carbon intensity..."},
      {"time_utc,v\n2022-01-01T00,1\n2022-01-01T01\n2022-01-01T02,4\n2022-01-01T03,4\n",
       "series.csv:3: the value is missing; expected is a carbon intensity..."},
      /* the gap is between the first two stamps */
      {"time_utc,v\n2022-01-01T00,1\n2022-01-01T02,2\n2022-01-01T03,4\n",
       "series.csv:3: a gap: 120 min line 2; expected stamps every 60 min..."},
      {TWO "2022-01-01T02,-4\n", "series.csv:4: '-4' is negative; expected is a carbon intensity of at least 0..."},
      {TWO "2022-01-01T02,x\n", "series.csv:4: 'x' is not a carbon intensity..."},
      {TWO "2022-02-30T02,4\n", "series.csv:4: '2022-02-30T02' is not a stamp; expected is a date and time like..."},
      {"time,v\n2022-01-01T00:00,1\n",
       "series.csv:2: '2022-01-01T00:00' has no offset from UTC local time expected Z..."},
      {"time_utc,a,b\n2022-01-01T00,1,1\n",
       "series.csv:1: several columns of values: time_utc, a, b; name one 'zone'..."},
      {"time_utc,v\n2022-01-01T00,1\n", "series.csv: only one stamp has a value; a series has at least two stamps..."},
      {"time_utc,v\n", "series.csv: no stamp has a value..."},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_series(cases[i][0]);
    write_text(SERIES(""));
    expect_error(NULL, 0, cases[i][1]);
  }
  write_series(TWO);
  write_text(SERIES(",\"column\":\"w\""));
  expect_error(NULL, 0, "series.csv:1: the file lacks a column 'w'; the columns are time_utc, v...");
  write_series("time_utc,v,w\n2022-01-01T00,1,2\n");
  write_text(SERIES(",\"zone\":\"DE\""));
  expect_error(NULL, 0, "series.csv:1: the file lacks a zone 'DE'; the columns are time_utc, v, w...");
}

/* ---- The shared files ---- */

static void shared_series_have_no_gaps(void) {
  static const struct {
    const char *members;
    int64_t hours;
  } cases[] = {
      {"\"file\":\"%s/em_2022_hourly_19zones.csv.gz\",\"zone\":\"AU-SA\"", 8760},
      {"\"file\":\"%s/em_2024_hourly_19zones.csv.gz\",\"zone\":\"DE\"", 8784},
      {"\"file\":\"%s/gaia_AU-SA_720h_from_2022-10-19T16.csv.gz\"", 720},
      {"\"file\":\"%s/lwa_2020_30min_DE_GB_FR.csv.gz\",\"zone\":\"GB\"", 9000},
      {"\"file\":\"%s/vessim_watttime_caiso_north_5min_2023-06.csv.gz\",\"utc\":true,\"signal\":\"marginal\"", 744},
  };
  char folder[] = SHARED "/reliability/data/carbon", members[400], text[600];
  if (real_trace_missing(SHARED "/reliability/data/carbon/em_2022_hourly_19zones.csv.gz")) return;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *hole = strstr(cases[i].members, "%s");
    snprintf(members, sizeof members, "%.*s%s%s", (int)(hole - cases[i].members), cases[i].members, folder, hole + 2);
    snprintf(text, sizeof text, CARBON("%s"), members);
    write_text(text);
    struct hr_scenario *scenario = load(NULL, 0);
    const struct hr_series *series = electricity_of(scenario, 0)->carbon;
    CU_ASSERT_EQUAL(hr_series_end_us(series) - hr_series_first_us(series), cases[i].hours * HOUR_US);
    hr_scenario_destroy(scenario);
  }
}

static void clean_up(void) {
  remove("series.csv");
  remove_test_folder();
}

TEST_MAIN("electricity of pools", TEST(create_test_folder), TEST(formats_are_read), TEST(gaps_can_be_held),
          TEST(days_of_23_and_25_hours), TEST(keys_are_stored), TEST(nothing_is_known_without_keys),
          TEST(errors_have_a_place), TEST(errors_of_files_have_a_line), TEST(shared_series_have_no_gaps),
          TEST(clean_up))
