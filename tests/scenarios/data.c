/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `data`: the stored values, routes from storage to pools, links of the catalogue, and the place of each error. */

#include "headroom/unstable/data.h"
#include "loading.h"

#include <string.h>

#define POOL(name, rest) "{\"name\":\"" name "\",\"gpu\":\"T4\",\"nodes\":4,\"gpus_per_node\":2" rest "}"
/* Two clusters; the members of `data` are on the second line. */
#define DATA(members)                                                                                                  \
  "{\"policy\":{\"name\":\"fifo\"},\"clusters\":[{\"name\":\"a\",\"region\":\"us-east-1\",\"pools\":[" POOL(           \
      "p", "") "]},{\"name\":\"b\",\"region\":\"eu-west-1\",\"pools\":[" POOL("p", "") "]}],\n\"data\":{" members "}}"
#define NAS "\"storage\":[{\"name\":\"nas\",\"location\":\"a\",\"gb_s\":2}]"
#define TWO_STORES                                                                                                     \
  "\"storage\":[{\"name\":\"nas\",\"location\":\"a\",\"gb_s\":2},{\"name\":\"s3\",\"location\":\"b\",\"gb_s\":2}]"
#define SETS ",\"sets\":[{\"name\":\"d\",\"gb\":100,\"storage\":[\"nas\"]}]"

static void keys_are_stored(void) {
  write_text(DATA("\"storage\":[{\"name\":\"nas\",\"location\":\"a/p\",\"gb_s\":2,\"client_gb_s\":0.5,"
                  "\"usd_per_gb_month\":0.02},{\"name\":\"s3\",\"location\":\"eu-west-1\",\"gb_s\":9,"
                  "\"checkpoints\":false}],\"sets\":[{\"name\":\"d\",\"gb\":0.5,\"storage\":[\"nas\"],\"copies\":"
                  "[\"s3\"],\"copy\":\"on-demand\"}],\"links\":[{\"from\":\"a\",\"to\":\"b\",\"gb_s\":1,\"latency_s\":"
                  "0.1,\"usd_per_gb\":0.05}],\"caches\":[{\"location\":\"b\",\"gb_per_node\":7,\"kind\":\"lru\"}],"
                  "\"reads\":[{\"set\":\"d\",\"class\":\"training\",\"epochs\":2.5}]"));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_data_spec *data = scenario->data;
  CU_ASSERT_PTR_NOT_NULL_FATAL(data);
  CU_ASSERT(data->storage[0].bytes_s == 2000000000 && data->storage[0].client_bytes_s == 500000000);
  CU_ASSERT(data->storage[0].uusd_per_gb_month == 20000 && data->storage[0].checkpoints);
  CU_ASSERT(!data->storage[1].checkpoints && data->storage[1].client_bytes_s == 0);
  CU_ASSERT(data->sets[0].bytes == 500000000 && data->sets[0].storage[0] == 0 && data->sets[0].copies[0] == 1);
  CU_ASSERT_EQUAL(data->sets[0].when, HR_DATA_COPY_ON_DEMAND);
  CU_ASSERT(data->links[0].latency_us == 100000 && data->links[0].uusd_per_gb == 50000);
  CU_ASSERT(data->caches[0].caching == HR_DATA_CACHE_LRU && data->caches[0].node_bytes == 7000000000);
  CU_ASSERT(data->reads[0].epochs == 2.5 && data->reads[0].class_ == HR_CLASS_TRAINING && data->reads[0].set == 0);
  /* to_pool: of nas to the pools of a and b, then of s3 */
  CU_ASSERT(data->to_pool[0].exists && data->to_pool[0].link == HR_NONE);
  CU_ASSERT(data->to_pool[1].exists && data->to_pool[1].link == 0);
  CU_ASSERT(!data->to_pool[2].exists && data->to_pool[3].exists && data->to_pool[3].link == HR_NONE);
  CU_ASSERT(data->to_storage[1].exists && data->to_storage[1].link == 0 && !data->to_storage[2].exists);
  CU_ASSERT(data->cache_of[0] == HR_NONE && data->cache_of[1] == 0);
  hr_scenario_destroy(scenario);
}

/* A rule without a data set applies to jobs that name one in the trace. They may name any data set, so all must be
   reachable. */
static void sets_of_the_trace(void) {
  write_text(DATA(NAS SETS ",\"links\":[{\"from\":\"a\",\"to\":\"b\",\"gb_s\":1}],\"reads\":[{\"epochs\":3}]"));
  struct hr_scenario *scenario = load(NULL, 0);
  CU_ASSERT_EQUAL(scenario->data->reads[0].set, HR_NONE);
  CU_ASSERT_PTR_NULL(scenario->data->reads[0].set_name);
  hr_scenario_destroy(scenario);
  write_text(DATA(NAS SETS ",\"reads\":[{\"epochs\":3}]"));
  expect_error(NULL, 0, "s.json:2:118: pool 'b/p' has no link from a storage system with the data set 'd'");
}

/* aws:us-east-1 to aws:eu-west-1 of the catalogue. A region without pools may have storage. */
static void links_of_the_catalogue(void) {
  write_text(DATA("\"storage\":[{\"name\":\"s3\",\"location\":\"us-west-2\",\"gb_s\":2}],\"links\":[{\"from\":"
                  "\"us-east-1\",\"to\":\"eu-west-1\"},{\"from\":\"us-west-2\",\"to\":\"a\",\"client_gb_s\":1}]"));
  struct hr_scenario *scenario = load(NULL, 0);
  const struct hr_data_link *link = &scenario->data->links[0];
  CU_ASSERT(link->bytes_s == 0 && link->client_bytes_s > 500000000 && link->client_bytes_s < 700000000);
  CU_ASSERT_EQUAL(link->uusd_per_gb, 20000);
  CU_ASSERT_TRUE(link->latency_us > 50000 && link->latency_us < 100000);
  CU_ASSERT_EQUAL(scenario->data->to_pool[0].link, 1);
  hr_scenario_destroy(scenario);
}

static void errors_have_a_place(void) {
  static const char *const size[] = {"data.sets.0.gb=-1"};
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {DATA("\"storage\":[{\"name\":\"nas\",\"location\":\"c\",\"gb_s\":2}]"),
       "s.json:2:45: unknown location 'c'; a pool, a cluster or a region is expected..."},
      {DATA(NAS ",\"caches\":[{\"location\":\"us-est-1\",\"gb_per_node\":1}]"),
       "s.json:2:82: unknown location 'us-est-1'; a pool, a cluster or a region is expected; did you mean "
       "'us-east-1'?"},
      {DATA(NAS ",\"links\":[{\"from\":\"a\",\"to\":\"x\",\"gb_s\":1}]"), "s.json:2:86: unknown location 'x'..."},
      {DATA(NAS ",\"links\":[{\"from\":\"a\",\"to\":\"b\"}]"),
       "s.json:2:69: the link has no bandwidth; 'gb_s' or 'client_gb_s' is expected..."},
      {DATA(NAS ",\"links\":[{\"from\":\"a\",\"to\":\"b\",\"gb_s\":0}]"),
       "s.json:2:97: 'data.links.0.gb_s' is the number 0..."},
      {DATA(NAS ",\"links\":[{\"from\":\"a\",\"to\":\"a\",\"gb_s\":1}]"),
       "s.json:2:86: the link leads from 'a' to itself"},
      {DATA(NAS ",\"links\":[{\"from\":\"a\",\"to\":\"b\",\"gb_s\":1,\"tiers\":[{\"above_gb\":9,\"usd_per_gb\":1},"
                "{\"above_gb\":9,\"usd_per_gb\":2}]}]"),
       "s.json:2:150: the amounts of 'tiers' must rise"},
      {DATA(NAS ",\"sets\":[{\"name\":\"d\",\"gb\":1}]"), "s.json:2:68: 'data.sets.0' lacks the key 'storage'..."},
      {DATA(NAS ",\"sets\":[{\"name\":\"d\",\"gb\":1,\"storage\":[]}]"),
       "s.json:2:97: 'data.sets.0.storage' is an empty list..."},
      {DATA(NAS ",\"sets\":[{\"name\":\"d\",\"gb\":1,\"storage\":[\"nsa\"]}]"),
       "s.json:2:98: no storage system has the name 'nsa'; did you mean 'nas'?"},
      {DATA(NAS ",\"sets\":[{\"name\":\"d\",\"gb\":1,\"storage\":[\"nas\"],\"copy\":\"start\"}]"),
       "s.json:2:112: 'copy' has no effect without 'copies'"},
      {DATA(NAS SETS ",\"reads\":[{\"set\":\"e\",\"epochs\":1}]"),
       "s.json:2:125: no data set has the name 'e'; did you mean 'd'?"},
      {DATA(NAS SETS ",\"reads\":[{\"set\":\"d\"}]"), "s.json:2:118: either 'epochs' or 'gb_s_per_gpu' is expected"},
      {DATA(NAS SETS ",\"reads\":[{\"set\":\"d\",\"epochs\":1}]"),
       "s.json:2:118: pool 'b/p' has no link from a storage system with the data set 'd'"},
      {DATA(NAS ",\"sets\":[{\"name\":\"d\",\"gb\":1,\"storage\":[\"nas\"]},{\"name\":\"d\",\"gb\":1,\"storage\":"
                "[\"nas\"]}]"),
       "s.json:2:114: two data sets have the name 'd'"},
      {DATA(NAS ",\"caches\":[{\"location\":\"a\",\"gb_per_node\":1},{\"location\":\"a\",\"gb_per_node\":2}]"),
       "s.json:2:115: duplicate cache in 'a'; keep one"},
      {DATA(NAS ",\"sets\":[{\"name\":\"d\",\"gb\":1,\"storage\":[\"nas\",\"nas\"]}]"),
       "s.json:2:104: duplicate 'nas'; keep one"},
      {DATA(TWO_STORES ",\"sets\":[{\"name\":\"d\",\"gb\":1,\"storage\":[\"nas\"],\"copies\":[\"s3\",\"s3\"]}]"),
       "s.json:2:158: duplicate 's3'; keep one"},
      {DATA(TWO_STORES ",\"sets\":[{\"name\":\"d\",\"gb\":1,\"storage\":[\"nas\"],\"copies\":[\"s3\",\"nas\"]}]"),
       "s.json:2:158: 'nas' has the data set already; a storage system that is not in 'storage' is expected"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(cases[i].text);
    expect_error(NULL, 0, cases[i].expected);
  }
  write_text("{\"policy\":{\"name\":\"queue\",\"placement\":\"data-local\"},\"cluster\":{\"pools\":[{\"name\":\"p\","
             "\"gpu\":\"A100\",\"nodes\":1,\"gpus_per_node\":8}]}}");
  expect_error(NULL, 0, "s.json:1:39: the placement 'data-local' has no effect without 'data'");
  write_text(DATA(NAS SETS));
  expect_error(size, 1, "--set data.sets.0.gb=-1: 'data.sets.0.gb' is the number -1...");
}

TEST_MAIN("Data with a location in scenarios", TEST(create_test_folder), TEST(keys_are_stored), TEST(sets_of_the_trace),
          TEST(links_of_the_catalogue), TEST(errors_have_a_place), TEST(remove_test_folder))
