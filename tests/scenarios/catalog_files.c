/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Catalogue tables of users: rows that are added, rows that replace built-in ones, and errors in files. */

#include "harness.h"
#include "messages.h"

#include "headroom/unstable/catalog.h"

#include <string.h>
#include <unistd.h>

static const char file[] = "t.csv";

static void write_text(const char *text) {
  FILE *out = fopen(file, "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(out);
  CU_ASSERT_EQUAL(fwrite(text, 1, strlen(text), out), strlen(text));
  fclose(out);
}

static struct hr_catalog *load(const struct hr_catalog_files *files) {
  struct hr_catalog *catalog = NULL;
  struct hr_error error = {0};
  enum hr_status status = hr_catalog_load(files, &catalog, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  return catalog;
}

static void expect_error(const struct hr_catalog_files *files, const char *text, const char *expected) {
  struct hr_catalog *catalog;
  struct hr_error error = {0};
  if (text) write_text(text);
  CU_ASSERT_EQUAL(hr_catalog_load(files, &catalog, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NULL(catalog);
  if (!message_matches(error.text, expected)) printf("\n  expected: %s\n  got:      %s\n", expected, error.text);
  CU_ASSERT_TRUE(message_matches(error.text, expected));
}

/* ---- User rows -------------------------------------------------------------------------------------- */

/* Columns in another order, optional columns missing, a UTF-8 byte order mark, Windows line ends. */
static void gpus_are_added_and_replaced(void) {
  write_text("\xEF\xBB\xBFtdp_w,idle_w,gpu,mem_gb,bandwidth_gb_s,fp16_tflops\r\n"
             "750,90,MI300X,192,5300,1300\r\n"
             "\r\n"
             "300,46,A100-80,80,1935,312\r\n");
  struct hr_catalog *built_in = load(NULL), *with_user_rows = load(&(struct hr_catalog_files){.gpus = file});
  const struct hr_gpu_type *type = NULL, *replaced = NULL;
  CU_ASSERT_EQUAL(with_user_rows->n_gpus, built_in->n_gpus + 1);
  CU_ASSERT_EQUAL_FATAL(hr_catalog_gpu(built_in, "A100-80", &replaced, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_catalog_gpu(with_user_rows, "A100-80", &type, NULL), HR_OK);
  /* the row is at the index of the built-in row that it replaces */
  CU_ASSERT_EQUAL(type - with_user_rows->gpus, replaced - built_in->gpus);
  CU_ASSERT_EQUAL(type->tdp_w, 300);
  CU_ASSERT_EQUAL(type->nvlink_gb_s, HR_UNKNOWN_NUMBER);
  CU_ASSERT_STRING_EQUAL(type->status, "stated");
  CU_ASSERT_STRING_EQUAL(type->source, file);
  CU_ASSERT_EQUAL_FATAL(hr_catalog_gpu(with_user_rows, "mi300x", &type, NULL), HR_OK);
  CU_ASSERT_EQUAL(type->mem_gb, 192);
  hr_catalog_destroy(built_in);
  hr_catalog_destroy(with_user_rows);
}

static void prices_are_added_and_replaced(void) {
  write_text("provider,instance,region,market,term,upfront,usd_per_hour,as_of,status,source\n"
             "aws,p5.48xlarge,us-east-1,on-demand,,,50.0000005,2026-07-20,quoted,\"our offer, signed\"\n"
             "aws,p5.48xlarge,us-east-1,reserved,3y,all,20,2026-10-01,,\n"
             "aws,p5.48xlarge,moon-1,spot,,,1e1,2026-10,,\n");
  struct hr_catalog *built_in = load(NULL), *with_user_rows = load(&(struct hr_catalog_files){.prices = file});
  CU_ASSERT_EQUAL(with_user_rows->n_prices, built_in->n_prices + 2);
  struct hr_price_query query = {.provider = "aws", .instance = "p5.48xlarge", .market = HR_MARKET_ON_DEMAND};
  struct hr_price_quote quote;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_price(with_user_rows, &query, &quote, NULL), HR_OK);
  CU_ASSERT_EQUAL(quote.uusd_h, 50000001); /* half a micro-dollar is rounded up */
  CU_ASSERT_STRING_EQUAL(quote.source, "our offer, signed");
  query.market = HR_MARKET_RESERVED;
  query.term = "3y";
  CU_ASSERT_EQUAL_FATAL(hr_catalog_price(with_user_rows, &query, &quote, NULL), HR_OK);
  CU_ASSERT_EQUAL(quote.uusd_h, 20000000);
  CU_ASSERT_STRING_EQUAL(quote.status, "stated");
  query.market = HR_MARKET_SPOT;
  query.region = "moon-1";
  CU_ASSERT_EQUAL_FATAL(hr_catalog_price(with_user_rows, &query, &quote, NULL), HR_OK);
  CU_ASSERT_EQUAL(quote.uusd_h, 10000000);
  CU_ASSERT_EQUAL(hr_catalog_price(built_in, &query, &quote, NULL), HR_BAD_INPUT);
  hr_catalog_destroy(built_in);
  hr_catalog_destroy(with_user_rows);
}

static void instances_and_discounts_are_added(void) {
  struct hr_catalog *catalog;
  struct hr_price_quote quote;
  write_text("provider,instance,gpu,gpus\nhome,rack,H100,8\n");
  catalog = load(&(struct hr_catalog_files){.instances = file});
  const struct hr_instance_type *type = NULL;
  CU_ASSERT_EQUAL(hr_catalog_instance(catalog, "home", "rack", &type, NULL), HR_OK);
  CU_ASSERT_EQUAL(type->vcpus, HR_UNKNOWN_NUMBER);
  hr_catalog_destroy(catalog);

  write_text("provider,family,term,upfront,off,as_of\naws,p5,3y,,0.5,2026\n");
  catalog = load(&(struct hr_catalog_files){.discounts = file});
  const struct hr_price_query query = {
      .provider = "aws", .instance = "p5.48xlarge", .market = HR_MARKET_RESERVED, .term = "3y"};
  CU_ASSERT_EQUAL_FATAL(hr_catalog_price(catalog, &query, &quote, NULL), HR_OK);
  CU_ASSERT_EQUAL(quote.uusd_h, 27520000);
  CU_ASSERT_STRING_EQUAL(quote.status, "derived");
  hr_catalog_destroy(catalog);
}

static void presets_are_added(void) {
  write_text("name,provider,gpu,region,model,up,up_a,up_b,down,down_a,notice_s\n"
             "mine,aws,H100,*,on-off,weibull,0.5,2,exponential,0.25,15\n");
  struct hr_catalog *catalog = load(&(struct hr_catalog_files){.spot_presets = file});
  const struct hr_spot_preset *preset = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_spot_preset(catalog, "mine", &preset, NULL), HR_OK);
  CU_ASSERT_EQUAL(preset->spec.up.kind, HR_DURATION_WEIBULL);
  CU_ASSERT_EQUAL(preset->spec.up.a, 0.5);
  CU_ASSERT_EQUAL(preset->spec.up.b, 7200);
  CU_ASSERT_EQUAL(preset->spec.down.kind, HR_DURATION_EXPONENTIAL);
  CU_ASSERT_EQUAL(preset->spec.down.a, 900);
  CU_ASSERT_EQUAL(preset->spec.batch_mean, 1);
  CU_ASSERT_EQUAL(preset->spec.rate_per_h, 0);
  CU_ASSERT_EQUAL(preset->discount, HR_UNKNOWN_NUMBER);
  hr_catalog_destroy(catalog);
}

/* A new GPU type whose rows are not adjacent, and a row that replaces a built-in one. */
static void mig_profiles_are_added(void) {
  write_text("gpu,profile,compute_slices,memory_slices,mem_mib,sms,starts,max_instances\n"
             "l4,1g.12gb,1,1,12000,29,1;0,2\n"
             "A100-80,3g.40gb,3,4,40000,42,4,1\n"
             "L4,2g.24gb,2,2,24000,58,0,1\n");
  struct hr_catalog *with_user_rows = load(&(struct hr_catalog_files){.mig_profiles = file});
  const struct hr_mig_type *type = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_catalog_mig(with_user_rows, "L4", &type, NULL), HR_OK);
  CU_ASSERT_EQUAL(type->n_profiles, 2);
  CU_ASSERT_STRING_EQUAL(type->profiles[0].name, "2g.24gb");
  CU_ASSERT_EQUAL(type->compute_slices, 2);
  CU_ASSERT_EQUAL(type->memory_slices, 2);
  CU_ASSERT_EQUAL(type->profiles[1].starts, 3);
  CU_ASSERT_EQUAL_FATAL(hr_catalog_mig(with_user_rows, "A100-80", &type, NULL), HR_OK);
  CU_ASSERT_EQUAL(type->n_profiles, 7);
  CU_ASSERT_EQUAL(type->profiles[2].starts, 0x10);
  CU_ASSERT_EQUAL(type->profiles[2].mem_mib, 40000);
  hr_catalog_destroy(with_user_rows);
}

/* ---- Errors ----------------------------------------------------------------------------------------- */

#define PRICE_COLUMNS "provider,instance,region,market,term,upfront,usd_per_hour,as_of\n"

static void bad_cells(void) {
  const struct hr_catalog_files files = {.prices = file};
  expect_error(&files, PRICE_COLUMNS "aws,p5.48xlarge,us-east-1,on-demand,,,-1,2026\n",
               "t.csv:2: column 'usd_per_hour': '-1' is not a number from 0 to 100000");
  expect_error(&files, PRICE_COLUMNS "aws,p5.48xlarge,us-east-1,on-demand,,,nan,2026\n",
               "t.csv:2: column 'usd_per_hour': 'nan' is not a number from 0 to 100000");
  expect_error(&files, PRICE_COLUMNS "aws,p5.48xlarge,us-east-1,on-demand,,,,2026\n",
               "t.csv:2: column 'usd_per_hour' is empty");
  expect_error(&files, PRICE_COLUMNS "\n\naws,p5.48xlarge,us-east-1,on-demand,,,1,2026-02-30\n",
               "t.csv:4: column 'as_of': '2026-02-30' is not a date like 2026-07-20, 2026-07 or 2026");
  expect_error(&files, PRICE_COLUMNS "aws,p5.48xlarge,us-east-1,on-demand,,,1,26-07\n",
               "t.csv:2: column 'as_of': '26-07' is not a date like 2026-07-20, 2026-07 or 2026");
  expect_error(&files, PRICE_COLUMNS "aws,p5.48xlarge,us-east-1,ondemand,,,1,2026\n",
               "t.csv:2: column 'market': 'ondemand' is none of '', 'owned', 'reserved', 'on-demand', 'spot'");
  expect_error(&files, PRICE_COLUMNS "aws,p5.48xlarge,us-east-1,owned,,,1,2026\n",
               "t.csv:2: column 'market': is not reserved, on-demand or spot");
  expect_error(&files, PRICE_COLUMNS "aws,p5.48xlarge,us-east-1,reserved,,,1,2026\n",
               "t.csv:2: a reserved price needs a 'term': 1y, 3y, block, or untold (unknown term)");
  expect_error(&files, PRICE_COLUMNS "aws,p5.48xlarge,us-east-1,spot,1y,,1,2026\n",
               "t.csv:2: 'term' and 'upfront' go with reserved prices alone");
  expect_error(&(struct hr_catalog_files){.discounts = file}, "provider,family,term,off,as_of\naws,p5,1y,1.2,2026\n",
               "t.csv:2: column 'off': '1.2' is not a number from 0 to 1");
  expect_error(&(struct hr_catalog_files){.instances = file}, "provider,instance,gpu,gpus\nhome,rack,H100,2.5\n",
               "t.csv:2: column 'gpus' is not a whole number");
}

static void bad_headers(void) {
  const struct hr_catalog_files files = {.prices = file};
  expect_error(&files, "", "t.csv:1: the file is empty; a header is expected");
  expect_error(&files, "provider,instance,region,market,usd_per_hour\n",
               "t.csv:1: a table of prices needs the column 'as_of'");
  expect_error(&files, "provider,instnace\n",
               "t.csv:1: a table of prices has no column 'instnace'; did you mean 'instance'?");
  expect_error(&files, "provider,provider\n", "t.csv:1: duplicate column 'provider'");
}

static void bad_rows(void) {
  const struct hr_catalog_files files = {.prices = file};
  expect_error(&files, PRICE_COLUMNS "aws,p5.48xlarge\n", "t.csv:2: the row has 2 columns, the header 8");
  expect_error(&files, PRICE_COLUMNS "aws,p5.48xlarge,us-east-1,spot,,,1,2026,x\n",
               "t.csv:2: the row has 9 columns, the header 8");
  expect_error(&files,
               PRICE_COLUMNS "aws,p5.48xlarge,us-east-1,spot,,,1,2026\n"
                             "aws,p5.48xlarge,us-east-2,spot,,,1,2026\n"
                             "aws,p5.48xlarge,us-east-1,spot,,,2,2026\n",
               "t.csv:4: this row is the same as that of line 2");
  expect_error(&files, PRICE_COLUMNS "aws,\"p5.48xlarge,us-east-1,spot,,,1,2026\n", "t.csv:2: a quote is never closed");
  expect_error(&files, PRICE_COLUMNS "aws,p5\"48xlarge,us-east-1,spot,,,1,2026\n", "t.csv:2: unexpected quote");
}

/* A price of an unknown instance type, and an instance type with an unknown GPU type. */
static void bad_names(void) {
  expect_error(&(struct hr_catalog_files){.prices = file}, PRICE_COLUMNS "aws,p4d.42xlarge,us-east-1,spot,,,1,2026\n",
               "t.csv:2: instance type of aws 'p4d.42xlarge' is unknown; did you mean 'p4d.24xlarge'?");
  expect_error(&(struct hr_catalog_files){.instances = file}, "provider,instance,gpu,gpus\nhome,rack,H10O,8\n",
               "t.csv:2: GPU type 'H10O' is unknown; did you mean 'H100'?");
}

static void bad_presets(void) {
#define PRESET_COLUMNS "name,provider,gpu,region,model,up,up_a,rate_per_h,monthly_interruption,bathtub_a,notice_s\n"
  const struct hr_catalog_files files = {.spot_presets = file};
  expect_error(
      &files, PRESET_COLUMNS "x,aws,*,*,on-off,log-normal,1,,,,0\n",
      "t.csv:2: the model on-off needs 'up' and 'down', each with what its distribution needs in '_a' and '_b'");
  expect_error(&files, PRESET_COLUMNS "x,aws,*,*,exponential,,,,,,0\n",
               "t.csv:2: the model exponential needs 'rate_per_h'");
  expect_error(&files, PRESET_COLUMNS "x,aws,*,*,advisor,,,0.1,,,0\n",
               "t.csv:2: the model advisor needs 'monthly_interruption'");
  expect_error(&files, PRESET_COLUMNS "x,aws,*,*,advisor,,,,1,,0\n",
               "t.csv:2: column 'monthly_interruption': '1' is not a number from 0 to 0.999999");
  expect_error(&files, PRESET_COLUMNS "x,aws,*,*,bathtub,,,,,0.5,0\n",
               "t.csv:2: the model bathtub needs all of 'bathtub_a' to 'bathtub_last_h'");
  expect_error(&files, PRESET_COLUMNS "x,aws,*,*,trace,,,,,,0\n",
               "t.csv:2: a preset cannot hold the record that the model trace needs");
}

static void bad_mig_profiles(void) {
#define MIG_COLUMNS "gpu,profile,compute_slices,memory_slices,mem_mib,sms,starts,max_instances\n"
#define BAD_STARTS "t.csv:2: column 'starts': is not a list like 0;2;4 of memory slices, each with room behind it"
#define BAD_PROFILE                                                                                                    \
  "t.csv:2: column 'profile': is not a name like 3g.40gb or 1g.10gb+me, with as many g as compute slices"
  const struct hr_catalog_files files = {.mig_profiles = file};
  expect_error(&files, MIG_COLUMNS "H100,3g.40gb,3,4,40000,42,0;5,2\n", BAD_STARTS);
  expect_error(&files, MIG_COLUMNS "H100,3g.40gb,3,4,40000,42,0;0,2\n", BAD_STARTS);
  expect_error(&files, MIG_COLUMNS "H100,3g.40gb,3,4,40000,42,0;,2\n", BAD_STARTS);
  expect_error(&files, MIG_COLUMNS "H100,3g.40gb,3,4,40000,42,0-4,2\n", BAD_STARTS);
  expect_error(&files, MIG_COLUMNS "H100,3g.40gb,3,4,40000,42,,2\n", "t.csv:2: column 'starts' is empty");
  expect_error(&files, MIG_COLUMNS "H100,4g.40gb,3,4,40000,42,0,2\n", BAD_PROFILE);
  expect_error(&files, MIG_COLUMNS "H100,3g.gb,3,4,40000,42,0,2\n", BAD_PROFILE);
  expect_error(&files, MIG_COLUMNS "H100,3g.40gb+gfx,3,4,40000,42,0,2\n", BAD_PROFILE);
  expect_error(&files, MIG_COLUMNS "H100,3g.4000000000000000000gb,3,4,40000,42,0,2\n", BAD_PROFILE);
  expect_error(&files, MIG_COLUMNS "H100,3g.40gb,3,4.5,40000,42,0,2\n",
               "t.csv:2: slices, mem_mib, sms and max_instances are whole numbers");
  expect_error(&files, MIG_COLUMNS "H100,3g.40gb,3,9,40000,42,0,2\n",
               "t.csv:2: column 'memory_slices': '9' is not a number from 1 to 8");
  expect_error(&files, MIG_COLUMNS "H10O,3g.40gb,3,4,40000,42,0,2\n",
               "t.csv:2: GPU type 'H10O' is unknown; did you mean 'H100'?");
}

static void too_many_mig_profiles(void) {
  char text[2000] = MIG_COLUMNS;
  for (int i = 0; i < 17; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "L4,1g.%dgb,1,1,1000,10,0,1\n", i + 1);
  expect_error(&(struct hr_catalog_files){.mig_profiles = file}, text,
               "t.csv:18: a GPU type has at most 16 MIG profiles");
}

static void files_that_cannot_be_read(void) {
  unlink(file);
  expect_error(&(struct hr_catalog_files){.gpus = file}, NULL, "t.csv: cannot be read: No such file or directory");
}

TEST_MAIN("scenarios_catalog_files", TEST(gpus_are_added_and_replaced), TEST(prices_are_added_and_replaced),
          TEST(instances_and_discounts_are_added), TEST(presets_are_added), TEST(bad_cells), TEST(bad_headers),
          TEST(bad_rows), TEST(bad_names), TEST(bad_presets), TEST(mig_profiles_are_added), TEST(bad_mig_profiles),
          TEST(too_many_mig_profiles), TEST(files_that_cannot_be_read))
