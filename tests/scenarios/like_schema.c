/* SPDX-License-Identifier: GPL-3.0-or-later */
/* docs/reference/schemas/like.schema.json says what the reader's table of a model's keys says, neither more nor less,
 * bounds included. */

#include "harness.h"

#include "key_schema.h"
#include "scenarios/like_keys.h"

static void schema_and_table_say_the_same(void) {
  struct hr__json_file schema;
  key_schema_read(PROJECT_DIR "/docs/reference/schemas/like.schema.json", &schema);
  key_schema_expect_table(&schema, hr__like_keys());
  key_schema_expect_known(&schema, hr__like_keys());
  hr__json_file_finish(&schema);
}

TEST_MAIN("scenarios_like_schema", TEST(schema_and_table_say_the_same))
