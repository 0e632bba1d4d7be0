/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The HTML report as text: names that contain markup, templates, numbers, and write errors. */

#include "harness.h"

#include "output_files.h"
#include "page_read.h"
#include "page_scenarios.h"
#include "report/page/page.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Numbers ---------------------------------------------------------------------------------------- */

static void numbers_have_six_significant_digits(void) {
  static const struct {
    double value;
    const char *text;
  } cases[] = {{0, "0"},
               {1, "1"},
               {-1, "-1"},
               {100, "100"},
               {1.5, "1.5"},
               {532.4814, "532.481"},
               {99999.95, "100000"},
               {999999.4, "999999"},
               {1234567, "1234570"},
               {123456789012.0, "123457000000"},
               {0.1, "0.1"},
               {0.000123456789, "0.000123457"},
               {0.00000000123456, "0.000000001235"},
               {1e-15, "0"},
               {-1e-15, "0"},
               {-0.25, "-0.25"},
               {0.9999996, "1"},
               {10.05, "10.05"}};
  struct hr__out out;
  CU_ASSERT_EQUAL_FATAL(hr__out_open(&out, files_path("numbers.json"), NULL), HR_OK);
  struct hr__page_json json = {.out = &out};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) hr__page_number(&json, NULL, cases[i].value);
  for (int exponent = -11; exponent < 17; exponent++)
    for (int i = 1; i < 2000; i += 7) hr__page_number(&json, NULL, i * pow(10, exponent) / 3);
  hr__page_number(&json, NULL, (double)NAN);
  CU_ASSERT_EQUAL_FATAL(hr__out_commit(&out, NULL), HR_OK);
  char *text = files_read(files_path("numbers.json")), *at = strtok(text, ",");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++, at = strtok(NULL, ","))
    CU_ASSERT_STRING_EQUAL(at, cases[i].text);
  for (int exponent = -11; exponent < 17; exponent++) {
    for (int i = 1; i < 2000; i += 7, at = strtok(NULL, ",")) {
      double value = i * pow(10, exponent) / 3;
      CU_ASSERT_PTR_NOT_NULL_FATAL(at);
      CU_ASSERT_TRUE(fabs(strtod(at, NULL) - value) <= 5.1e-6 * value + 5.1e-13);
    }
  }
  CU_ASSERT_STRING_EQUAL(at, "null");
  free(text);
  remove(files_path("numbers.json"));
}

/* ---- Names ------------------------------------------------------------------------------------------ */

static const char hostile[] = "</script><script>alert(1)</script><!-- \"quoted\" \\ \n\t\x01 \xc3\xa9\xe2\x82\xac";

/* Returns the number of occurrences of `part` in a text. */
static size_t count_of(const char *text, const char *part) {
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) count++;
  return count;
}

static void names_cannot_end_the_element(void) {
  static const char *const names[] = {hostile, "M\xfcller"}, *const ids[] = {hostile, "plain"};
  static const uint32_t tenant[] = {0, 1};
  struct page_scenario *scenario = page_scenario_plain(2);
  size_t size;
  scenario->trace.id_text = ids;
  scenario->trace.tenant = tenant;
  scenario->trace.tenants = (struct hr_names){2, names};
  scenario->pool[0].name = (char *)hostile;
  page_scenario_run(scenario);
  scenario->label.scenario = hostile;
  struct hr_notes notes = {0};
  hr_notes_add(&notes, "%s", hostile);
  const struct hr_notes *const lists[] = {&notes, &notes};
  struct hr_error error = {0};
  struct hr_page document = {.kind = "run",
                             .title = hostile,
                             .command = hostile,
                             .run = &scenario->run,
                             .baseline = "{\"a\":\"</script>\"}",
                             .baseline_name = hostile,
                             .notes = lists,
                             .n_notes = 2,
                             .assumptions = &notes,
                             .template_html = page_template};
  CU_ASSERT_EQUAL_FATAL(hr_page_write(files_path("page.html"), &document, &error), HR_OK);
  struct read_page page = page_read(files_path("page.html"));
  CU_ASSERT_EQUAL(count_of(page.text, "<script"), 4); /* the document, and the blocks of the heat map, jobs and ids */
  CU_ASSERT_EQUAL(count_of(page.text, "</script"), 4);
  CU_ASSERT_EQUAL(count_of(page.text, "<!--"), 0);
  CU_ASSERT_STRING_EQUAL(page_at(&page, "title")->valuestring, hostile);
  CU_ASSERT_STRING_EQUAL(page_at(&page, "run.scenario")->valuestring, hostile);
  CU_ASSERT_STRING_EQUAL(page_at(&page, "baseline.run.a")->valuestring, "</script>");
  CU_ASSERT_STRING_EQUAL(cJSON_GetArrayItem(page_at(&page, "jobs.text.tenant"), 0)->valuestring, hostile);
  CU_ASSERT_STRING_EQUAL(cJSON_GetArrayItem(page_at(&page, "jobs.text.tenant"), 1)->valuestring, "M\xc3\xbcller");
  CU_ASSERT_EQUAL(cJSON_GetArraySize(page_at(&page, "notes")), 1); /* a repeated note is written once */
  CU_ASSERT_EQUAL(cJSON_GetArraySize(page_at(&page, "assumptions")), 1);
  char *lines = (char *)page_block(&page, "job_ids", &size), wanted[sizeof hostile];
  strcpy(wanted, hostile);
  *strchr(wanted, '\n') = ' ';
  CU_ASSERT_EQUAL(size, strlen(wanted) + strlen("\nplain"));
  CU_ASSERT_NSTRING_EQUAL(lines, wanted, strlen(wanted));
  CU_ASSERT_NSTRING_EQUAL(lines + strlen(wanted), "\nplain", 6);
  free(lines);
  hr_notes_finish(&notes);
  page_free(&page);
  page_scenario_destroy(scenario);
}

/* ---- Templates -------------------------------------------------------------------------------------- */

static enum hr_status write_template(const char *template_html, const char *path, struct hr_error *error) {
  const struct hr_page page = {.kind = "sweep",
                               .title = "a < b & c",
                               .command = "headroom sweep",
                               .sweep = "{\"axes\":[]}",
                               .template_html = template_html};
  return hr_page_write(path, &page, error);
}

/* The data of the first lines of the page: goals, prices and the largest saving. */
static void facts_of_the_first_lines_are_written(void) {
  const struct hr_page_goal goals[] = {{hostile, (double)NAN, false}, {"wait_s.mean <= 1 h", 12.5, true}};
  const struct hr_page_price prices[] = {
      {.pool = hostile, .market = "spot", .status = "assumed", .uusd_per_gpu_hour = 1372353}};
  const struct hr_page_saving saving = {.advise_command = "headroom advise s.json",
                                        .is_searched = true,
                                        .n_examined = 3,
                                        .command = hostile,
                                        .usd_per_month = 1143.95,
                                        .pool = "spot",
                                        .from = "a",
                                        .to = "b"};
  struct hr_page page = {.kind = "sweep",
                         .title = "t",
                         .command = "c",
                         .sweep = "{}",
                         .template_html = page_template,
                         .description = hostile,
                         .goals = goals,
                         .n_goals = 2,
                         .prices = prices,
                         .n_prices = 1,
                         .saving = &saving};
  CU_ASSERT_EQUAL_FATAL(hr_page_write(files_path("page.html"), &page, NULL), HR_OK);
  struct read_page written = page_read(files_path("page.html"));
  CU_ASSERT_STRING_EQUAL(page_at(&written, "description")->valuestring, hostile);
  const cJSON *goal = cJSON_GetArrayItem(page_at(&written, "goals"), 0), *next = goal->next;
  CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(goal, "constraint")->valuestring, hostile);
  CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(goal, "value")) && cJSON_IsFalse(cJSON_GetObjectItem(goal, "met")));
  CU_ASSERT_EQUAL(cJSON_GetObjectItem(next, "value")->valuedouble, 12.5);
  CU_ASSERT_TRUE(cJSON_IsTrue(cJSON_GetObjectItem(next, "met")));
  const cJSON *price = cJSON_GetArrayItem(page_at(&written, "prices"), 0);
  CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(price, "pool")->valuestring, hostile);
  CU_ASSERT_EQUAL(cJSON_GetObjectItem(price, "usd_per_gpu_hour")->valuedouble, 1.372353);
  CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(price, "as_of")));
  CU_ASSERT_STRING_EQUAL(page_at(&written, "saving.command")->valuestring, hostile);
  CU_ASSERT_EQUAL(page_at(&written, "saving.usd_per_month")->valuedouble, 1143.95);
  CU_ASSERT_EQUAL(page_at(&written, "saving.examined")->valuedouble, 3);
  CU_ASSERT_TRUE(cJSON_IsNull(page_at(&written, "saving.class")));
  page_free(&written);
  page.saving = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_page_write(files_path("page.html"), &page, NULL), HR_OK);
  written = page_read(files_path("page.html"));
  CU_ASSERT_TRUE(cJSON_IsNull(page_at(&written, "saving")));
  page_free(&written);
}

static void placeholders_are_replaced(void) {
  CU_ASSERT_EQUAL_FATAL(write_template(page_template, files_path("page.html"), NULL), HR_OK);
  char *text = files_read(files_path("page.html"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "<html><head><title>a &lt; b &amp; c</title></head>\n<script"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "</script>\n\n</html>\n"));
  CU_ASSERT_PTR_NULL(strstr(text, "headroom:data"));
  struct read_page page = page_read(files_path("page.html"));
  CU_ASSERT_TRUE(cJSON_IsNull(page_at(&page, "run")));
  CU_ASSERT_TRUE(cJSON_IsArray(page_at(&page, "sweep.axes")));
  CU_ASSERT_TRUE(cJSON_IsArray(page_at(&page, "alerts")));
  page_free(&page);
  free(text);
  CU_ASSERT_EQUAL(write_template("no title <!--headroom:data--> end", files_path("page.html"), NULL), HR_OK);
}

static void template_without_placeholder_is_an_error(void) {
  struct hr_error error = {0};
  (void)remove(files_path("page.html"));
  CU_ASSERT_EQUAL(write_template("<title>Headroom</title>", files_path("page.html"), &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "<!--headroom:data-->"));
  CU_ASSERT_TRUE(files_only(NULL));
  if (hr_page_is_built()) return;
  CU_ASSERT_EQUAL(write_template(NULL, files_path("page.html"), &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "node and npm"));
}

static void write_error_is_returned(void) {
  struct hr_error error = {0};
  CU_ASSERT_NOT_EQUAL(write_template(page_template, files_path("nowhere/page.html"), &error), HR_OK);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "nowhere/page.html"));
  CU_ASSERT_EQUAL(write_template(page_template, "/dev/full", &error), HR_IO_ERROR);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/dev/full"));
}

/* ---- Extreme runs ----------------------------------------------------------------------------------- */

static void run_of_duration_zero(void) {
  struct page_scenario *scenario = page_scenario_plain(1);
  scenario->work_us[0] = 0;
  page_scenario_run(scenario);
  struct read_page page = page_of(&scenario->run);
  CU_ASSERT_TRUE(page_number(&page, "spans.end_s") == 0);
  CU_ASSERT_TRUE(page_number(&page, "series.n") == 1);
  CU_ASSERT_PTR_NULL(page_at(&page, "series.cost"));
  CU_ASSERT_PTR_NULL(page_at(&page, "series.spot"));
  CU_ASSERT_PTR_NULL(page_at(&page, "costs"));
  CU_ASSERT_PTR_NULL(page_at(&page, "attempts"));
  CU_ASSERT_TRUE(isnan(cJSON_GetArrayItem(page_at(&page, "series.busy.mean"), 0)->valuedouble) ||
                 cJSON_IsNull(cJSON_GetArrayItem(page_at(&page, "series.busy.mean"), 0)));
  page_free(&page);
  page_scenario_destroy(scenario);
}

static void horizon_before_first_submit(void) {
  struct page_scenario *scenario = page_scenario_plain(2);
  scenario->submit_us[1] = 5000000;
  scenario->work_us[0] = HR_MAX_INPUT_US;
  scenario->horizon_us = 1000000;
  page_scenario_run(scenario);
  struct read_page page = page_of(&scenario->run);
  size_t n;
  double *end = page_column(&page, "jobs", "end_s", &n), *start = page_column(&page, "jobs", "start_s", &n);
  CU_ASSERT_TRUE(page_number(&page, "spans.end_s") == 1);
  CU_ASSERT_TRUE(end[0] < 0 && end[1] < 0 && start[0] == 0 && start[1] < 0);
  free(end);
  free(start);
  page_free(&page);
  page_scenario_destroy(scenario);
}

/* The longest possible run causes no overflow. */
static void longest_possible_run(void) {
  struct page_scenario *scenario = page_scenario_plain(2);
  scenario->work_us[0] = scenario->work_us[1] = HR_MAX_INPUT_US;
  page_scenario_run(scenario);
  struct read_page page = page_of(&scenario->run);
  size_t n;
  double *end = page_column(&page, "jobs", "end_s", &n);
  CU_ASSERT_TRUE(end[1] == 2e11);
  CU_ASSERT_TRUE(cJSON_GetArrayItem(page_at(&page, "series.allocated.mean"), 700)->valuedouble == 8);
  free(end);
  page_free(&page);
  page_scenario_destroy(scenario);
}

TEST_MAIN("report: page text", TEST(numbers_have_six_significant_digits), TEST(names_cannot_end_the_element),
          TEST(facts_of_the_first_lines_are_written), TEST(placeholders_are_replaced),
          TEST(template_without_placeholder_is_an_error), TEST(write_error_is_returned), TEST(run_of_duration_zero),
          TEST(horizon_before_first_submit), TEST(longest_possible_run))
