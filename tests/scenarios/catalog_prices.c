/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prices of instance types in micro-dollars, recorded or derived. The expected values were computed from the rows of
   the tables with exact fractions. */

#include "harness.h"
#include "messages.h"

#include "headroom/unstable/catalog.h"

#include <string.h>

static struct hr_catalog *catalog;

static void catalogue_is_loaded(void) {
  CU_ASSERT_EQUAL_FATAL(hr_catalog_load(NULL, &catalog, NULL), HR_OK);
}

static void expect_price(struct hr_price_query query, int64_t uusd_h, const char *as_of, const char *status) {
  struct hr_price_quote quote = {0};
  struct hr_error error = {0};
  if (hr_catalog_price(catalog, &query, &quote, &error) != HR_OK) {
    printf("\n  %s\n", error.text);
    CU_FAIL("no price");
    return;
  }
  bool same = quote.uusd_h == uusd_h && strcmp(quote.as_of, as_of) == 0 && strcmp(quote.status, status) == 0;
  if (!same) printf("\n  %s: %lld %s %s\n", query.instance, (long long)quote.uusd_h, quote.as_of, quote.status);
  CU_ASSERT_TRUE(same);
}

/* Asserts that the query fails with the message `expected`; see message_matches for the comparison. */
static void expect_error(struct hr_price_query query, const char *expected) {
  struct hr_price_quote quote = {0};
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr_catalog_price(catalog, &query, &quote, &error), HR_BAD_INPUT);
  bool same = message_matches(error.text, expected);
  if (!same) printf("\n  expected: %s\n  got:      %s\n", expected, error.text);
  CU_ASSERT_TRUE(same);
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

static void recorded_prices(void) {
  const enum hr_market list = HR_MARKET_ON_DEMAND;
  expect_price((struct hr_price_query){.provider = "aws", .instance = "g4dn.xlarge", .market = list}, 526000,
               "2026-07-20", "quoted");
  expect_price(
      (struct hr_price_query){.provider = "AWS", .instance = "P5.48xlarge", .region = "US-EAST-1", .market = list},
      55040000, "2026-07-20", "quoted");
  expect_price((struct hr_price_query){.provider = "azure", .instance = "Standard_ND96isr_H100_v5", .market = list},
               98320000, "2026-06-18", "quoted");
  expect_price((struct hr_price_query){.provider = "lambda", .instance = "gpu_8x_v100", .market = list}, 6320000,
               "2026", "quoted");
  expect_price(
      (struct hr_price_query){.provider = "lambda", .instance = "gpu_8x_v100", .market = list, .as_of = "2025"},
      4400000, "2024-05-01", "quoted");
  expect_price(
      (struct hr_price_query){.provider = "runpod", .instance = "H100-SXM-secure", .region = "*", .market = list},
      3990000, "2026-11-09", "quoted");
  expect_price((struct hr_price_query){.provider = "aws",
                                       .instance = "p5.48xlarge",
                                       .market = HR_MARKET_RESERVED,
                                       .term = "block",
                                       .upfront = "all"},
               39330000, "2024-10", "quoted");
}

/* In June 2025 AWS reduced the price of p4d by a third and the price of p5 by 44 %. Queries for earlier dates return
   the old prices. */
static void prices_by_date(void) {
  struct hr_price_query p4d = {.provider = "aws", .instance = "p4d.24xlarge", .market = HR_MARKET_ON_DEMAND};
  struct hr_price_query p5 = {.provider = "aws", .instance = "p5.48xlarge", .market = HR_MARKET_ON_DEMAND};
  p4d.as_of = p5.as_of = "2025-05-31";
  expect_price(p4d, 32772600, "2024-05-01", "quoted");
  expect_price(p5, 98320000, "2024-05-01", "quoted");
  p4d.as_of = p5.as_of = "2025-06";
  expect_price(p4d, 21957642, "2025-06", "derived");
  expect_price(p5, 55040000, "2025-06", "quoted");
  p4d.as_of = p5.as_of = "";
  expect_price(p4d, 21957642, "2026-07-20", "quoted");
  expect_price(p5, 55040000, "2026-07-20", "quoted");
  p4d.as_of = p5.as_of = "2024-04-30";
  expect_error(p4d,
               "no on-demand price of aws p4d.24xlarge in us-east-1 is in the catalogue as of 2024-04-30 (its first is "
               "of 2024-05-01)");
}

/* ---- Derived ---------------------------------------------------------------------------------------- */

static void prices_follow_the_base_region(void) {
  struct hr_price_query query = {
      .provider = "aws", .instance = "p4d.24xlarge", .region = "eu-west-1", .market = HR_MARKET_ON_DEMAND};
  expect_price(query, 23715689, "2026-07-20", "derived"); /* USD: 35.39655 x 21.957642 / 32.7726 */
  query.as_of = "2025-05";
  expect_price(query, 35396550, "2024-05-01", "quoted");
  query = (struct hr_price_query){
      .provider = "aws", .instance = "p5en.48xlarge", .region = "eu-west-3", .market = HR_MARKET_ON_DEMAND};
  expect_price(query, 74005683, "2026-07-20", "derived"); /* USD: 63.296 x 1.1692 */
  query = (struct hr_price_query){
      .provider = "aws", .instance = "g4dn.xlarge", .region = "eu-west-1", .market = HR_MARKET_ON_DEMAND};
  expect_price(query, 587000, "2024-05-01", "quoted"); /* the price of the base region did not change */
}

static void commitments_follow_the_on_demand_price(void) {
  struct hr_price_query query = {
      .provider = "aws", .instance = "p4d.24xlarge", .market = HR_MARKET_RESERVED, .term = "1y", .upfront = "all"};
  expect_price(query, 12616421, "2026-07-20", "derived"); /* USD: 18.830479 x 21.957642 / 32.7726 */
  query.as_of = "2025-05-28";
  expect_price(query, 18830479, "2025-05-28", "quoted");
  query.as_of = "";
  query.upfront = "none";
  expect_price(query, 13174585, "2026-07-20", "assumed"); /* USD: 21.957642 less 40 % */
  query.upfront = NULL;
  query.term = "3y";
  expect_price(query, 8783057, "2026-07-20", "assumed"); /* USD: 21.957642 less 60 % */
  query = (struct hr_price_query){
      .provider = "gcp", .instance = "a2-highgpu-1g", .market = HR_MARKET_RESERVED, .term = "3y", .upfront = "none"};
  expect_price(query, 1285700, "2025-03-06", "quoted");
}

static void spot_prices_do_not_follow_other_prices(void) {
  struct hr_price_query query = {
      .provider = "aws", .instance = "p4d.24xlarge", .region = "eu-west-1", .market = HR_MARKET_SPOT};
  expect_price(query, 24350300, "2024-05-01", "quoted");
  query.instance = "p5en.48xlarge";
  query.region = "eu-west-3";
  expect_price(query, 20721591, "2026-07-20", "derived"); /* USD: 74.005683 less 72 % */
}

/* ---- By GPU ----------------------------------------------------------------------------------------- */

static void the_cheapest_instance_type_of_a_gpu(void) {
  static const char *const providers[] = {"aws", "gcp", "azure", "lambda", "runpod", "hyperstack", "oci"};
  for (size_t p = 0; p < sizeof providers / sizeof *providers; p++)
    for (size_t g = 0; g < catalog->n_gpus; g++)
      for (int market = HR_MARKET_ON_DEMAND; market <= HR_MARKET_SPOT; market++) {
        struct hr_price_query query = {
            .provider = providers[p], .gpu = catalog->gpus[g].name, .market = (enum hr_market)market};
        struct hr_price_quote cheapest, other;
        bool found = hr_catalog_price(catalog, &query, &cheapest, NULL) == HR_OK, any = false, reached = false;
        for (size_t i = 0; i < catalog->n_instances; i++) {
          const struct hr_instance_type *type = &catalog->instances[i];
          if (strcmp(type->provider, providers[p]) != 0 || strcmp(type->gpu, query.gpu) != 0) continue;
          query.instance = type->name;
          if (hr_catalog_price(catalog, &query, &other, NULL) != HR_OK) continue;
          any = true;
          if (!found) continue;
          int64_t min = hr_price_quote_gpu_uusd_h(&cheapest), own = hr_price_quote_gpu_uusd_h(&other);
          CU_ASSERT_TRUE(min <= own);
          reached = reached || min == own;
        }
        CU_ASSERT_EQUAL(found, any);
        CU_ASSERT_EQUAL(found, reached);
      }
}

static void per_gpu_is_rounded_half_up(void) {
  const struct hr_instance_type eight = {.gpus = 8};
  struct hr_price_quote quote = {.instance = &eight, .uusd_h = 12};
  CU_ASSERT_EQUAL(hr_price_quote_gpu_uusd_h(&quote), 2);
  quote.uusd_h = 11;
  CU_ASSERT_EQUAL(hr_price_quote_gpu_uusd_h(&quote), 1);
}

/* A query returns the newest row that is not later than its date. */
static void no_price_is_later_than_the_query(void) {
  static const char *const days[] = {"2024-05-01", "2025-01-01", "2025-05-28", "2025-06-30", "2026-07-20"};
  for (size_t i = 0; i < catalog->n_prices; i++)
    for (size_t d = 0; d < sizeof days / sizeof *days; d++) {
      const struct hr_price *row = &catalog->prices[i];
      struct hr_price_query query = {.provider = row->provider,
                                     .instance = row->instance,
                                     .region = row->region,
                                     .market = row->market,
                                     .term = row->term,
                                     .upfront = row->upfront,
                                     .as_of = days[d]};
      struct hr_price_quote quote;
      bool found = hr_catalog_price(catalog, &query, &quote, NULL) == HR_OK;
      if (found) CU_ASSERT_TRUE(strcmp(quote.as_of, days[d]) <= 0);
      if (strcmp(row->as_of, days[d]) <= 0) CU_ASSERT_TRUE(found && strcmp(quote.as_of, row->as_of) >= 0);
    }
}

/* ---- Unknown names ---------------------------------------------------------------------------------- */

static void errors_for_missing_prices(void) {
  expect_error((struct hr_price_query){.provider = "lambda", .gpu = "H100", .market = HR_MARKET_SPOT},
               "no spot price of lambda H100 is in the catalogue");
  expect_error((struct hr_price_query){.provider = "lambda", .gpu = "L4", .market = HR_MARKET_SPOT},
               "lambda has no instance type with the GPU 'L4'");
  expect_error((struct hr_price_query){.provider = "aws", .gpu = "H100", .market = HR_MARKET_OWNED},
               "the catalogue has prices of reserved, on-demand and spot capacity");
  expect_error((struct hr_price_query){.provider = "aws",
                                       .instance = "p5e.48xlarge",
                                       .region = "us-west-2",
                                       .market = HR_MARKET_RESERVED,
                                       .term = "block"},
               "no reserved price for block of aws p5e.48xlarge in us-west-2 is in the catalogue");
  expect_error(
      (struct hr_price_query){.provider = "aws", .gpu = "H100", .region = "us-est-1", .market = HR_MARKET_SPOT},
      "region of aws 'us-est-1' is unknown; did you mean 'us-east-1'?");
  expect_error((struct hr_price_query){.provider = "ibm", .gpu = "H100", .market = HR_MARKET_SPOT},
               "provider 'ibm' is unknown; there are: aws, gcp, ...");
  hr_catalog_destroy(catalog);
}

TEST_MAIN("scenarios_catalog_prices", TEST(catalogue_is_loaded), TEST(recorded_prices), TEST(prices_by_date),
          TEST(prices_follow_the_base_region), TEST(commitments_follow_the_on_demand_price),
          TEST(spot_prices_do_not_follow_other_prices), TEST(the_cheapest_instance_type_of_a_gpu),
          TEST(per_gpu_is_rounded_half_up), TEST(no_price_is_later_than_the_query), TEST(errors_for_missing_prices))
