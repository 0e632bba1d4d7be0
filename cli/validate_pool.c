/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `validate` tells of a pool but for its market: its nodes, who may use them, how its GPUs are shared and joined.
 */

#include "cli/validate_pool.h"
#include "cli/options.h"

#include <inttypes.h>

static void write_classes(FILE *out, uint32_t classes) {
  const char *before = ", only for ";
  for (unsigned i = 0; i < HR_N_CLASSES; i++) {
    if (!(classes >> i & 1)) continue;
    fprintf(out, "%s%s", before, hr_job_class_name((enum hr_job_class)i));
    before = ", ";
  }
}

static void write_nodes(FILE *out, const void *what) {
  const struct hr_pool_spec *pool = what;
  fprintf(out, "%s: %" PRIu32 " node%s x %" PRIu32 " %s", pool->name, pool->nodes, pool->nodes == 1 ? "" : "s",
          pool->gpus_per_node, pool->gpu);
  if (pool->gpu_mem_mib) fprintf(out, " of %.10g GB", pool->gpu_mem_mib / 1024.0);
  if (pool->cpu_milli_per_node) fprintf(out, ", %.10g CPUs", pool->cpu_milli_per_node / 1000.0);
  if (pool->mem_mib_per_node) fprintf(out, ", %.10g GB", (double)pool->mem_mib_per_node / 1024);
  if (pool->cpu_milli_per_node || pool->mem_mib_per_node) fprintf(out, " a node");
  if (pool->sharing != HR_SHARING_WHOLE) fprintf(out, ", shared: %s", hr_sharing_name(pool->sharing));
  if (pool->replicas) fprintf(out, " in %" PRIu32, pool->replicas);
  if (pool->clients) fprintf(out, ", at most %" PRIu32 " on a GPU", pool->clients);
  if (pool->memory == HR_GPU_MEMORY_FIRST_COME) fprintf(out, ", memory: %s", hr_gpu_memory_name(pool->memory));
  write_classes(out, pool->classes);
}

/* ---- Topology --------------------------------------------------------------------------------------- */

static void write_size(FILE *out, const char *name, uint32_t size, const char *of) {
  if (size) fprintf(out, " %s of %" PRIu32 " %s;", name, size, of);
}

static bool tells_topology(const struct hr_topology *topology) {
  for (enum hr_tier tier = HR_TIER_ISLAND; tier < HR_N_TIERS; tier++) {
    bool parts = tier != HR_TIER_NODE && tier != HR_TIER_POOL && hr_topology_has(topology, tier);
    if (parts || topology->network[tier] != HR_NETWORK_NONE) return true;
  }
  return false;
}

/* The tiers that a pool has, and what joins them. */
static void write_topology(FILE *out, const void *what) {
  const struct hr_topology *topology = what;
  fprintf(out, "topology:");
  write_size(out, "islands", topology->island_gpus, "GPUs");
  write_size(out, "NUMA domains", topology->numa_gpus, "GPUs");
  write_size(out, "racks", topology->nodes_per_rack, "nodes");
  write_size(out, "zones", topology->racks_per_zone, "racks");
  const char *between = " joined:";
  for (enum hr_tier tier = HR_TIER_ISLAND; tier < HR_N_TIERS; tier++) {
    if (topology->network[tier] == HR_NETWORK_NONE) continue;
    fprintf(out, "%s %s %s", between, hr_tier_name(tier), hr_network_name((enum hr_network)topology->network[tier]));
    between = ",";
  }
}

/* ---- Sharing ---------------------------------------------------------------------------------------- */

/* How fast jobs are beside each other. */
static void write_neighbours(FILE *out, const void *what) {
  const struct hr_pool_spec *pool = what;
  for (uint32_t i = 0; i < pool->n_interference; i++)
    fprintf(out, "%s up to %.10g of a GPU together: speed %.10g",
            i ? ";" : "neighbours:", pool->interference[i].up_to_milli / 1000.0, pool->interference[i].speed_ppm / 1e6);
  for (uint32_t i = 0; i < pool->n_pairs; i++)
    fprintf(out, "%s %s beside %s: speed %.10g", i || pool->n_interference ? ";" : "neighbours:", pool->pairs[i].model,
            pool->pairs[i].with, pool->pairs[i].speed_ppm / 1e6);
}

struct layout {
  const struct hr_mig_spec *mig;
  uint32_t number, gpus_per_node;
};

/* As it is named, as it is, and which GPUs of a node have it at first. */
static void write_layout(FILE *out, const void *what) {
  const struct layout *layout = what;
  const struct hr_mig_layout *of = &layout->mig->layouts[layout->number];
  char text[HR_MIG_TEXT_BYTES];
  hr_mig_text(&layout->mig->type, &of->gpu, text, sizeof text);
  fprintf(out, "%s: %s", of->name, text[0] ? text : "no instance");
  for (uint32_t gpu = 0, count = 0; gpu < layout->gpus_per_node; gpu++)
    if (layout->mig->layout_of_gpu[gpu] == layout->number) fprintf(out, "%s%" PRIu32, count++ ? ", " : "; GPU ", gpu);
}

static void print_mig(const struct hr_mig_spec *mig, uint32_t gpus_per_node) {
  printf("            MIG: %s", hr_mig_mode_name(mig->mode));
  if (mig->lead_us) printf(", %.10g s until an instance is there", (double)mig->lead_us / (double)HR_SECOND_US);
  putchar('\n');
  for (uint32_t i = 0; i < mig->n_layouts; i++) {
    const struct layout layout = {mig, i, gpus_per_node};
    printf("%14s", "");
    print_wrapped_from(stdout, write_layout, &layout, 14, 16);
  }
}

/* ---- All of it -------------------------------------------------------------------------------------- */

static void print_line(text_writer *write, const void *what) {
  printf("%12s", "");
  print_wrapped_from(stdout, write, what, 12, 14);
}

void print_pool(const struct hr_pool_spec *pool) {
  printf("%10s", "");
  print_wrapped_from(stdout, write_nodes, pool, 10, 12);
  if (tells_topology(&pool->topology)) print_line(write_topology, &pool->topology);
  if (pool->n_interference || pool->n_pairs) print_line(write_neighbours, pool);
  if (pool->mig) print_mig(pool->mig, pool->gpus_per_node);
}
