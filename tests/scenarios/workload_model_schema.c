/* SPDX-License-Identifier: GPL-3.0-or-later */
/* docs/reference/schemas/like.schema.json has the same keys and bounds as the key table of the workload model
   reader. */

#include "harness.h"

#include "key_schema.h"
#include "scenarios/schema/keys.h"

static void the_schema_matches_the_key_table(void) {
  struct hr__json_file schema;
  key_schema_read(PROJECT_DIR "/docs/reference/schemas/like.schema.json", &schema);
  key_schema_expect_table(&schema, &hr__workload_model_keys);
  hr__json_file_finish(&schema);
}

TEST_MAIN("scenarios_workload_model_schema", TEST(the_schema_matches_the_key_table))
