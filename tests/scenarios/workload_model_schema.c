/* SPDX-License-Identifier: GPL-3.0-or-later */
/* docs/reference/schemas/like.schema.json and the reader's table of keys have the same keys and bounds. */

#include "harness.h"

#include "key_schema.h"
#include "scenarios/schema/keys.h"

static void schema_and_table_say_the_same(void) {
  struct hr__json_file schema;
  key_schema_read(PROJECT_DIR "/docs/reference/schemas/like.schema.json", &schema);
  key_schema_expect_table(&schema, hr__workload_model_keys);
  key_schema_expect_known(&schema, hr__workload_model_keys);
  hr__json_file_finish(&schema);
}

TEST_MAIN("scenarios_workload_model_schema", TEST(schema_and_table_say_the_same))
