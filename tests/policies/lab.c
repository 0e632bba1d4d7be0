/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const tenant_names[LAB_NAMES] = {"t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"};
static const char *const user_names[LAB_NAMES] = {"u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8"};
static const char *const model_names[LAB_NAMES] = {"resnet-50", "resnet-51", "bert-base", "bert-large",
                                                   "gpt",       "gpt-2",     "t5",        "vit"};

static void require_ok(enum hr_status status, const struct hr_error *error) {
  if (status == HR_OK) return;
  fprintf(stderr, "the test itself failed: %s\n", error->text);
  abort();
}

uint32_t lab_roll(struct lab_dice *dice, uint32_t below) {
  dice->state = dice->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((dice->state >> 33) % below);
}

bool lab_chance(struct lab_dice *dice, uint32_t percent) {
  return lab_roll(dice, 100) < percent;
}

const char *lab_tenant_name(uint32_t tenant) {
  return tenant_names[tenant - 1];
}

void lab_begin(struct lab *lab) {
  struct hr_error error;
  *lab = (struct lab){.horizon_us = HR_NEVER_US};
  lab->quotas.nodes = lab->nodes;
  lab->quotas.fallback = (struct hr_quota_node){.parent = HR_NONE,
                                                .is_tenant = true,
                                                .borrow_milli = HR_NO_LIMIT,
                                                .lend_milli = HR_NO_LIMIT,
                                                .max_milli = HR_NO_LIMIT,
                                                .weight = 1};
  require_ok(hr_policy_choice_init(&lab->policy, "queue", &error), &error);
}

void lab_finish(struct lab *lab) {
  hr_result_destroy(lab->result);
  hr_policy_choice_finish(&lab->policy);
}

void lab_set(struct lab *lab, const char *key, const char *value) {
  struct hr_error error;
  require_ok(hr_policy_choice_set(&lab->policy, key, value, &error), &error);
}

void lab_add_pool(struct lab *lab, uint32_t nodes, uint32_t gpus_per_node) {
  static char names[LAB_POOLS][2] = {"a", "b", "c", "d"}, gpu[] = "G";
  struct hr_pool_spec *pool = &lab->pools[lab->n_pools];
  *pool =
      (struct hr_pool_spec){.name = names[lab->n_pools++], .gpu = gpu, .nodes = nodes, .gpus_per_node = gpus_per_node};
  pool->market.to_us = HR_NEVER_US;
}

uint32_t lab_add_job(struct lab *lab, struct lab_job job) {
  lab->jobs[lab->n_jobs] = job;
  return lab->n_jobs++;
}

uint32_t lab_add_quota(struct lab *lab, struct hr_quota_node node) {
  if (!node.borrow_milli) node.borrow_milli = HR_NO_LIMIT;
  if (!node.lend_milli) node.lend_milli = HR_NO_LIMIT;
  if (!node.max_milli) node.max_milli = HR_NO_LIMIT;
  if (node.weight <= 0) node.weight = 1;
  lab->nodes[lab->quotas.n_nodes] = node;
  return lab->quotas.n_nodes++;
}

/* The columns of the trace. */
struct columns {
  int64_t submit[LAB_JOBS], work[LAB_JOBS], limit[LAB_JOBS], estimate[LAB_JOBS], deadline[LAB_JOBS];
  uint32_t gpus[LAB_JOBS], tenant[LAB_JOBS], user[LAB_JOBS], model[LAB_JOBS], cpu[LAB_JOBS];
  uint64_t mem[LAB_JOBS];
  int32_t priority[LAB_JOBS];
  uint16_t gpu_milli[LAB_JOBS];
  uint8_t class_[LAB_JOBS], flags[LAB_JOBS];
  bool has_users, has_models;
};

static void fill(const struct lab *lab, struct columns *c) {
  for (uint32_t i = 0; i < lab->n_jobs; i++) {
    const struct lab_job *job = &lab->jobs[i];
    c->submit[i] = job->submit_us;
    c->work[i] = job->work_us;
    c->limit[i] = job->limit_us ? job->limit_us : HR_UNKNOWN_US;
    c->estimate[i] = job->estimate_us ? job->estimate_us : HR_UNKNOWN_US;
    c->deadline[i] = job->deadline_us ? job->deadline_us : HR_UNKNOWN_US;
    c->gpus[i] = job->gpus;
    c->tenant[i] = job->tenant ? job->tenant - 1 : HR_NONE;
    c->user[i] = job->user ? job->user - 1 : HR_NONE;
    c->model[i] = job->model ? job->model - 1 : HR_NONE;
    c->cpu[i] = job->cpu_milli;
    c->mem[i] = job->mem_mib;
    c->gpu_milli[i] = job->gpu_milli ? job->gpu_milli : 1000;
    c->priority[i] = job->priority;
    c->class_[i] = job->class_;
    c->flags[i] = job->flags;
    c->has_users = c->has_users || job->user;
    c->has_models = c->has_models || job->model;
  }
}

static struct hr_trace trace_of(const struct lab *lab, const struct columns *c) {
  return (struct hr_trace){.source = "lab",
                           .format = "memory",
                           .n_jobs = lab->n_jobs,
                           .submit_us = c->submit,
                           .work_us = c->work,
                           .limit_us = c->limit,
                           .estimate_us = c->estimate,
                           .deadline_us = c->deadline,
                           .gpus = c->gpus,
                           .tenant = c->tenant,
                           .user = c->has_users ? c->user : NULL,
                           .model = c->has_models ? c->model : NULL,
                           .cpu_milli = c->cpu,
                           .mem_mib = c->mem,
                           .gpu_milli = c->gpu_milli,
                           .priority = c->priority,
                           .class_ = c->class_,
                           .flags = c->flags,
                           .tenants = {LAB_NAMES, tenant_names},
                           .users = {LAB_NAMES, user_names},
                           .models = {LAB_NAMES, model_names}};
}

bool lab_run(struct lab *lab, const struct hr_observer *observer) {
  struct columns *columns = calloc(1, sizeof *columns);
  if (!columns) abort();
  fill(lab, columns);
  struct hr_trace trace = trace_of(lab, columns);
  struct hr_cluster_spec cluster = {lab->pools, lab->n_pools};
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = lab->policy.ops,
                                 .params = lab->policy.params,
                                 .seed = 1,
                                 .horizon_us = lab->horizon_us,
                                 .check = true,
                                 .classes = lab->classes,
                                 .observers = observer,
                                 .n_observers = observer != NULL,
                                 .quotas = lab->quotas.n_nodes ? &lab->quotas : NULL};
  struct hr_error error;
  hr_result_destroy(lab->result);
  lab->result = NULL;
  bool ok = hr_sim_run(&config, &lab->result, &error) == HR_OK;
  if (!ok) printf("%s\n", error.text);
  /* the result must not refer to the trace, which is freed when this function returns */
  if (ok) lab->result->trace = NULL;
  free(columns);
  return ok;
}

int64_t lab_end_us(const struct lab *lab, uint32_t job) {
  const struct hr_result *result = lab->result;
  if (result->state[job] != HR_JOB_COMPLETED) return HR_NEVER_US;
  return result->account ? hr_result_accounting(result, (hr_job){job}).end_us
                         : result->start_us[job] + lab->jobs[job].work_us;
}
