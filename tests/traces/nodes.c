/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a list of nodes into the pools of a cluster. */
#include "harness.h"
#include "headroom/trace_files.h"

#include "trace_files.h"

#include <string.h>

static void equal_nodes_become_a_pool(void) {
  const char *path = file_write_text("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\n"
                                                  "n0,64000,262144,2,P100\nn1,96000,1024,0,\nn2,64000,262144,2,P100\n"
                                                  "n3,64000,131072,2,P100\nn4,96000,786432,8,V100M32\n");
  char name[] = "V100M32-8gpu", gpu[] = "V100M32";
  struct hr_pool_spec existing = {.name = name, .gpu = gpu, .nodes = 1, .gpus_per_node = 8};
  struct hr_cluster_spec cluster = {0};
  struct hr_notes notes = {0};
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_cluster_spec_add(&cluster, &existing, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_nodes_read(path, &cluster, &notes, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(cluster.n_pools, 4);
  static const char *const names[] = {"V100M32-8gpu", "P100-2gpu", "P100-2gpu-2", "V100M32-8gpu-2"};
  static const uint32_t nodes[] = {1, 2, 1, 1};
  for (uint32_t i = 0; i < 4; i++) {
    CU_ASSERT_STRING_EQUAL(cluster.pools[i].name, names[i]);
    CU_ASSERT_EQUAL(cluster.pools[i].nodes, nodes[i]);
  }
  CU_ASSERT_STRING_EQUAL(cluster.pools[1].gpu, "P100");
  CU_ASSERT_EQUAL(cluster.pools[1].cpu_milli_per_node, 64000);
  CU_ASSERT_EQUAL(cluster.pools[2].mem_mib_per_node, 131072);
  /* Positions in the order of nodes: of the node that existed before, then of n0, n2, n3, n4. */
  static const uint32_t places[] = {0, 1, 2, 3, 4};
  CU_ASSERT_PTR_NOT_NULL_FATAL(cluster.node_order);
  for (uint32_t node = 0; node < 5; node++) CU_ASSERT_EQUAL(cluster.node_order[node], places[node]);
  CU_ASSERT_EQUAL(notes.count, 1);
  CU_ASSERT(has_note(&notes, "1 node without GPUs is left out"));
  hr_notes_finish(&notes);
  hr_cluster_spec_finish(&cluster);
}

/* Nodes are numbered pool by pool. The node order of the cluster is the order of the list. */
static void the_node_order_is_that_of_the_list(void) {
  const char *path =
      file_write_text("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\n"
                                   "n0,64000,262144,2,P100\nn1,96000,1024,0,\nn2,96000,786432,8,G2\n"
                                   "n3,64000,262144,2,P100\nn4,96000,786432,8,G2\nn5,64000,262144,2,P100\n");
  static const uint32_t places[] = {0, 2, 4, 1, 3}; /* of n0, n3, n5 in the first pool, and n2, n4 in the second */
  struct hr_cluster_spec cluster = {0};
  struct hr_notes notes = {0};
  CU_ASSERT_EQUAL_FATAL(hr_nodes_read(path, &cluster, &notes, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(cluster.n_pools, 2);
  for (uint32_t node = 0; node < 5; node++) CU_ASSERT_EQUAL(cluster.node_order[node], places[node]);
  hr_notes_finish(&notes);
  hr_cluster_spec_finish(&cluster);
}

/* The list of PAI as published, without a header, and with a header. The number of GPUs may be written as 8.0. */
static void machine_list_of_pai(void) {
  static const char rows[] = "m0,P100,64,512,2\nm1,CPU,96,512,0\nm2,V100,96,512.5,8.0\nm3,P100,64,512,2\n";
  static const char header[] = "machine,gpu_type,cap_cpu,cap_mem,cap_gpu\n";
  for (int with_header = 0; with_header < 2; with_header++) {
    char text[300];
    snprintf(text, sizeof text, "%s%s", with_header ? header : "", rows);
    struct hr_cluster_spec cluster = {0};
    struct hr_notes notes = {0};
    CU_ASSERT_EQUAL_FATAL(hr_nodes_read(file_write_text("nodes.csv", text), &cluster, &notes, NULL), HR_OK);
    CU_ASSERT_EQUAL_FATAL(cluster.n_pools, 2);
    CU_ASSERT_STRING_EQUAL(cluster.pools[0].name, "P100-2gpu");
    CU_ASSERT_EQUAL(cluster.pools[0].nodes, 2);
    CU_ASSERT_EQUAL(cluster.pools[1].gpus_per_node, 8);
    CU_ASSERT_EQUAL(cluster.pools[1].cpu_milli_per_node, 96000);
    CU_ASSERT_EQUAL(cluster.pools[1].mem_mib_per_node, 524800);
    CU_ASSERT(has_note(&notes, "without GPUs"));
    hr_notes_finish(&notes);
    hr_cluster_spec_finish(&cluster);
  }
}

static bool nodes_rejected(const char *text, const char *part) {
  struct hr_cluster_spec cluster = {0};
  struct hr_notes notes = {0};
  struct hr_error error = {0};
  enum hr_status status = hr_nodes_read(file_write_text("nodes.csv", text), &cluster, &notes, &error);
  bool as_expected = status == HR_BAD_INPUT && strstr(error.text, part) && cluster.n_pools == 0;
  if (!as_expected) fprintf(stderr, "\n    got: %s\n", error.text);
  hr_notes_finish(&notes);
  hr_cluster_spec_finish(&cluster);
  return as_expected;
}

static void invalid_lists_are_rejected(void) {
  CU_ASSERT(nodes_rejected("m0,P100,64,many,2\n", "nodes.csv:1: column 'cap_mem': 'many' is not a number of GiB"));
  CU_ASSERT(nodes_rejected("# none\n", "nodes.csv"));
  CU_ASSERT(
      nodes_rejected("sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,2,\n", "nodes.csv:2: a node with GPUs has no model"));
  CU_ASSERT(nodes_rejected("sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,0,\n", "no node has a GPU"));
  CU_ASSERT(nodes_rejected("sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,-2,T4\n", "nodes.csv:2: column 'gpu': '-2'"));
  CU_ASSERT(nodes_rejected("sn,cpu_milli,memory_mib,model\n", "missing column 'gpu'"));
  CU_ASSERT(nodes_rejected("", "empty"));
}

TEST_MAIN("nodes", TEST(equal_nodes_become_a_pool), TEST(the_node_order_is_that_of_the_list), TEST(machine_list_of_pai),
          TEST(invalid_lists_are_rejected))
