/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine of an inference service, its memory and its cost: defaults, and rules that concern several keys. The cost
 * is the time of an iteration of the engine, depending on its batch.
 *
 * If a service has no `cost` or no KV memory, the defaults follow from its model, GPU type and tensor parallelism.
 *
 * The default cost is a measured row of the table below. Without such a row, it is a roofline estimate: an iteration
 * reads the weights once and the context of each sequence, and each token needs two operations per parameter. The
 * default KV memory is 90 % of the GPU memory minus the weights and 4 GB for activations. A replica on a part of a GPU
 * has the compute, bandwidth and memory of its MIG instance, or a fraction of those of the GPU. The measured rows
 * apply to whole GPUs only.
 *
 * Sources: costs: LLMServe/DistServe@82831f16, simdistserve/estimators/profile_data (Apache-2.0), measured on A100-80;
 * bytes of KV memory per token: the configurations of the models; weights: 2 bytes (fp16) for each parameter, with the
 * numbers of parameters in the model cards; shares of the peak in a roofline: inference-sim@f90a1e3a,
 * ai-dynamo/aiconfigurator@095f58a5.
 */

#include "headroom/unstable/services.h"

#include "headroom/gpu_inventory.h"
#include "headroom/mig.h"
#include "scenarios/build/builder.h"
#include "sim/services/service.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- Defaults from the model ----------------------------------------------------------------------------- */

struct model {
  const char *name;
  double weight_bytes, kv_bytes_per_token;
};
static const struct model models[] = {
    {"Llama-2-7B", 1.348e10, 524288},   {"Llama-2-13B", 2.603e10, 819200},   {"Llama-2-70B", 1.38e11, 327680},
    {"Llama-3.1-8B", 1.606e10, 131072}, {"Llama-3.1-70B", 1.411e11, 327680}, {"Llama-3.1-405B", 8.117e11, 516096},
    {"Mixtral-8x7B", 9.341e10, 131072}, {"Mistral-7B", 1.448e10, 131072},    {"Mistral-Nemo-12B", 2.45e10, 163840},
    {"Qwen2.5-7B", 1.523e10, 57344},    {"Qwen2.5-32B", 6.553e10, 262144},   {"Qwen2.5-72B", 1.454e11, 327680},
    {"Qwen3-14B", 2.954e10, 163840},    {"Qwen3-30B-A3B", 6.106e10, 98304},  {"CodeLlama-34B", 6.749e10, 196608},
    {"OPT-13B", 2.571e10, 819200},      {"OPT-66B", 1.314e11, 2359296},      {"BLOOM-176B", 3.525e11, 4014080},
    {"GPT-J-6B", 1.211e10, 458752}};

/* Measured times of iterations of DistServe's own engine or, if `is_vllm`, of vLLM. `prefill_ms` are the terms of
   prompts, `decode_ms` those of decodes, and `large_ms` those of decodes in batches of 95 sequences or more. */
struct measured {
  const char *model;
  uint32_t tensor_parallel;
  bool is_vllm;
  double prefill_ms[3], decode_ms[3], large_ms[3];
};
static const struct measured measured[] = {{"OPT-13B",
                                            1,
                                            false,
                                            {18.10254647486372, 0.1019122572698738, 7.122264314252114e-06},
                                            {19.934702624895458, 0.0006269356524350583, 0.03850697740828398},
                                            {7.1661889468253595, 0.0005798000403396046, 0.15831096191764046}},
                                           {"OPT-13B",
                                            2,
                                            false,
                                            {14.742973695171262, 0.06857720739764, 2.4495727400243586e-06},
                                            {13.294796350285385, 0.00034109219700723494, 0.06296393225243659},
                                            {10.638741913126715, 0.00031183369638295723, 0.08562913604102729}},
                                           {"OPT-13B",
                                            4,
                                            false,
                                            {12.062297033449054, 0.03808140082550695, 5.226249731787869e-07},
                                            {10.256231678259395, 0.00018786702316166354, 0.03269273629225551},
                                            {10.483514938375274, 0.00017120888562939117, 0.04566648525887034}},
                                           {"OPT-66B",
                                            2,
                                            false,
                                            {43.05881348288936, 0.2742292870458432, 2.2478042467169447e-05},
                                            {48.288015489286245, 0.0009424343535737985, 0.12755020094383188},
                                            {28.727693993711597, 0.00047448475459061987, 0.29617792360743994}},
                                           {"OPT-66B",
                                            3,
                                            false,
                                            {32.998230028437035, 0.19568256864690514, 1.2205248980953765e-05},
                                            {35.8015439512012, 0.0005845004786127403, 0.0952669764890301},
                                            {22.653861586978355, 0.0005358489190129727, 0.208514444037787}},
                                           {"OPT-66B",
                                            4,
                                            false,
                                            {29.441636037717455, 0.151352180625198, 8.317450765979451e-06},
                                            {30.760284619429587, 0.000451947603788462, 0.063284195750671},
                                            {27.47082137429487, 0.0004046845541646486, 0.12480667738300383}},
                                           {"OPT-66B",
                                            8,
                                            false,
                                            {25.490662375045222, 0.10659177664763161, 3.3910502518615973e-06},
                                            {23.15511135047022, 0.00022691488497826264, 0.04800638397272423},
                                            {21.71772781576609, 0.0003758089655762475, 0.08978614175851013}},
                                           {"OPT-13B",
                                            1,
                                            true,
                                            {22.052204789310185, 0.14050923870128956, 8.076584822611088e-06},
                                            {23.475041008414784, 0.000592934466077393, 0.060726861260369455},
                                            {20.206356173691958, 0.0004907727036234946, 0.1200031385587413}},
                                           {"OPT-13B",
                                            2,
                                            true,
                                            {27.440806247810684, 0.0905453268062731, 8.452054313246025e-06},
                                            {24.54058424191086, 0.00022440145424035404, 0.08715787269447899},
                                            {17.947769467112806, 0.0004570851465217072, 0.11179075830699213}},
                                           {"OPT-13B",
                                            4,
                                            true,
                                            {30.536322590049405, 0.05150644936810146, 4.232473132942393e-07},
                                            {25.90114444283343, 7.753634454230709e-05, 0.05528087160867803},
                                            {23.88388468859458, 0.00028400164093310935, 0.06276523831046728}},
                                           {"OPT-66B",
                                            2,
                                            true,
                                            {58.3822026348141, 0.3826408030281867, -7.1141486747694485e-06},
                                            {57.07344137197128, 0.0036461138777547255, 0.2249373634499222},
                                            {26.983759428854572, 0.006200132376379982, 0.4482569479277445}},
                                           {"OPT-66B",
                                            3,
                                            true,
                                            {45.74453423698261, 0.2778127747865773, 3.64624693008797e-05},
                                            {44.93958620555262, 0.0008096152552620141, 0.21287979591036174},
                                            {43.69602916834496, 0.0008402567346080152, 0.24006467608312998}},
                                           {"OPT-66B",
                                            4,
                                            true,
                                            {42.965489361973944, 0.2128658422785494, 4.601017396226869e-05},
                                            {39.58178936012414, 0.0006945721692406896, 0.13580868185596764},
                                            {40.859718006896806, 0.0004264871259058686, 0.19508372547790553}},
                                           {"OPT-66B",
                                            8,
                                            true,
                                            {38.931193445523604, 0.1573682229779579, 4.531676245669589e-06},
                                            {31.176041922273107, 0.00027556543631760213, 0.0679770397053775},
                                            {29.087774405517447, 0.0006027720257746419, 0.1389608688300688}}};

/* Returns the model with a name, ignoring case; NULL: unknown. An owner before the name is ignored: "facebook/opt-13b"
   is OPT-13B. */
static const struct model *find_model(const char *name) {
  const char *slash = strrchr(name, '/');
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    if (strcasecmp(models[i].name, slash ? slash + 1 : name) == 0) return &models[i];
  return NULL;
}

static enum hr_status unknown_model(const struct hr__builder *builder, const cJSON *entry, const char *name,
                                    const char *missing) {
  char known[600];
  size_t used = 0;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", models[i].name);
  return hr__build_fail_at(builder, entry, "model", "no data of the model '%.60s'; add '%s' to the replica (known: %s)",
                           name, missing, known);
}

/* The part of each GPU that a replica uses. */
struct device {
  const struct hr_gpu_type *gpu;
  double compute, bandwidth, mem_bytes; /* shares of the compute and of the memory bandwidth; memory in bytes */
  bool is_part;
  char name[100];
};

/* Sets the device to a MIG instance. Returns false if the GPU type has no such profile. */
static bool use_instance(const struct hr_mig_type *type, const char *profile_name, struct device *device) {
  uint32_t number;
  struct hr_error unused;
  if (hr_mig_profile_parse(type, profile_name, &number, &unused) != HR_OK) return false;
  const struct hr_mig_profile *profile = &type->profiles[number];
  const double mem_bytes = (double)profile->mem_mib * 1048576;
  device->compute = (double)profile->compute_slices / type->compute_slices;
  device->bandwidth = (double)profile->memory_slices / type->memory_slices;
  device->mem_bytes = fmin(mem_bytes, device->mem_bytes);
  device->is_part = true;
  snprintf(device->name, sizeof device->name, "%s of %s", profile->name, device->gpu->name);
  return true;
}

/* Sets the device to the part of a GPU that a replica takes in a pool. If it takes whole GPUs, does not change the
   device. */
static void use_part(const struct hr_pool_spec *pool, const struct hr_service *service, struct device *device) {
  const uint32_t slot_milli = hr_pool_slot_milli(pool), own_milli = service->gpu_milli ? service->gpu_milli : 1000;
  const uint32_t milli = slot_milli ? slot_milli : own_milli;
  if (pool->mig && service->mig_profile && use_instance(&pool->mig->type, service->mig_profile, device)) return;
  if (pool->sharing == HR_SHARING_WHOLE || (milli >= 1000 && !service->gpu_mem_mib)) return;
  device->compute = device->bandwidth = milli / 1000.0;
  device->mem_bytes = service->gpu_mem_mib ? fmin((double)service->gpu_mem_mib * 1048576, device->mem_bytes)
                                           : device->mem_bytes * milli / 1000;
  device->is_part = true;
  if (service->gpu_mem_mib)
    snprintf(device->name, sizeof device->name, "%.10g GiB and %.10g of %s", (double)service->gpu_mem_mib / 1024,
             milli / 1000.0, device->gpu->name);
  else
    snprintf(device->name, sizeof device->name, "%.10g of %s", milli / 1000.0, device->gpu->name);
}

/* Sets `*device` to the part of each GPU that a replica uses in the first pool that can hold it. */
static enum hr_status find_device(struct hr__builder *builder, const cJSON *entry, const struct hr_service *service,
                                  struct device *device) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  uint32_t pool = hr__service_pool(builder->scenario, service);
  const enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  if (pool == HR_NONE) pool = 0; /* a later check reports that no pool can hold a replica */
  const struct hr_gpu_type *gpu =
      cluster->n_pools ? hr_catalog_gpu_named(builder->catalog, cluster->pools[pool].gpu) : NULL;
  if (!gpu) {
    hr__build_fail(builder, hr__get(entry, "replica"),
                   "the GPU type '%.60s' is not in the catalogue; add 'cost' and 'kv_tokens'",
                   cluster->n_pools ? cluster->pools[pool].gpu : "");
    return HR_BAD_INPUT;
  }
  *device = (struct device){.gpu = gpu, .compute = 1, .bandwidth = 1, .mem_bytes = gpu->mem_gb * 1e9};
  snprintf(device->name, sizeof device->name, "%s", gpu->name);
  use_part(&cluster->pools[pool], service, device);
  return HR_OK;
}

static const struct measured *find_measured(const struct hr_service *service, const struct model *model,
                                            const struct device *device) {
  const bool is_vllm = service->engine != HR_SERVICE_DISAGGREGATED;
  for (size_t i = 0; i < sizeof measured / sizeof *measured && !device->is_part; i++)
    if (strcmp(measured[i].model, model->name) == 0 && measured[i].tensor_parallel == service->tensor_parallel &&
        measured[i].is_vllm == is_vllm && strncmp(device->gpu->name, "A100-80", 7) == 0)
      return &measured[i];
  return NULL;
}

static double *terms(const double values[3]) {
  double *copy = calloc(3, sizeof *copy);
  if (copy) memcpy(copy, values, 3 * sizeof *copy);
  return copy;
}

static enum hr_status use_measured(struct hr__builder *builder, const struct measured *row,
                                   struct hr_service *service) {
  struct hr_service_phases *phases = &service->cost.phases;
  *phases = (struct hr_service_phases){.prefill_ms = terms(row->prefill_ms),
                                       .decode_ms = terms(row->decode_ms),
                                       .large_ms = terms(row->large_ms),
                                       .n_prefill = 3,
                                       .n_decode = 3,
                                       .n_large = 3,
                                       .large_batch = 95,
                                       .stages = 1,
                                       .stage_ms = 1,
                                       .overhead_ms = 2,
                                       .overhead_token_ms = 0.0001};
  if (!phases->prefill_ms || !phases->decode_ms || !phases->large_ms) return hr__build_no_memory(builder);
  return hr__build_note(builder,
                        "service '%.60s': times of iterations of %s on A100-80 x %" PRIu32
                        " as measured for %s (LLMServe/DistServe, simdistserve)",
                        service->name, row->model, row->tensor_parallel, row->is_vllm ? "vLLM" : "DistServe");
}

static enum hr_status use_roofline(struct hr__builder *builder, const struct model *model, const struct device *device,
                                   struct hr_service *service) {
  const struct hr_gpu_type *gpu = device->gpu;
  const double of_bandwidth = 0.8, of_peak = 0.38; /* achieved shares of the maximum bandwidth and throughput */
  const double peak = gpu->bf16_tflops > 0 ? gpu->bf16_tflops : gpu->fp16_tflops, gpus = service->tensor_parallel;
  const double bytes_per_us = gpu->bandwidth_gb_s * 1e3 * of_bandwidth * gpus * device->bandwidth;
  const double token_us = model->weight_bytes /
                          (peak * 1e6 * of_peak * gpus * device->compute); /* two operations per parameter of 2 bytes */
  service->cost = (struct hr_service_cost){.fixed_us = model->weight_bytes / bytes_per_us,
                                           .per_prompt_token_us = token_us,
                                           .per_sequence_us = token_us,
                                           .per_context_ktoken_us = 1000 * model->kv_bytes_per_token / bytes_per_us};
  char part[120] = "";
  if (device->is_part)
    snprintf(part, sizeof part, " with %.3g %% of the compute and %.3g %% of the memory bandwidth of the GPU",
             100 * device->compute, 100 * device->bandwidth);
  return hr__build_note(
      builder,
      "warning: service '%.60s': no measured times of %s on %s x %" PRIu32
      "; a roofline estimate%s is used (fixed_us %.0f, per_prompt_token_us %.2f, per_context_ktoken_us "
      "%.1f), which can be wrong by a factor of 2; set 'replica.cost'",
      service->name, model->name, device->name, service->tensor_parallel, part, service->cost.fixed_us, token_us,
      service->cost.per_context_ktoken_us);
}

static enum hr_status default_cost(struct hr__builder *builder, const cJSON *entry, struct hr_service *service) {
  if (!service->model)
    return hr__build_fail(builder, hr__get(entry, "replica"), "add 'cost', or 'model' to the service");
  const struct model *model = find_model(service->model);
  if (!model) return unknown_model(builder, entry, service->model, "cost");
  struct device device = {.gpu = NULL};
  const enum hr_status status = find_device(builder, entry, service, &device);
  if (status != HR_OK) return status;
  const struct measured *row = find_measured(service, model, &device);
  return row ? use_measured(builder, row, service) : use_roofline(builder, model, &device, service);
}

static enum hr_status default_memory(struct hr__builder *builder, const cJSON *entry, struct hr_service *service) {
  const double share = 0.9, activation_bytes = 4e9;
  const cJSON *engine = hr__get(hr__get(entry, "replica"), "engine");
  if (!service->model)
    return hr__build_fail(builder, engine,
                          "a replica needs memory; add 'kv_blocks' or 'kv_tokens', or 'model' to the "
                          "service");
  const struct model *model = find_model(service->model);
  if (!model) return unknown_model(builder, entry, service->model, "engine.kv_tokens");
  struct device device = {.gpu = NULL};
  const enum hr_status status = find_device(builder, entry, service, &device);
  if (status != HR_OK) return status;
  const double free_bytes =
      device.mem_bytes * share * service->tensor_parallel - model->weight_bytes - activation_bytes;
  if (free_bytes < model->kv_bytes_per_token * service->limits.block_tokens) {
    service->limits.kv_tokens = service->limits.block_tokens; /* candidates only: nearly all requests are refused */
    return hr__build_unfit(builder, hr__build_fail(builder, engine, "%s does not fit on %" PRIu32 " x %s; %s",
                                                   model->name, service->tensor_parallel, device.name,
                                                   device.is_part ? "request a larger part of a GPU"
                                                                  : "raise 'tensor_parallel' and 'gpus'"));
  }
  service->limits.kv_tokens = floor(free_bytes / model->kv_bytes_per_token);
  return hr__build_note(builder,
                        "service '%.60s': kv_tokens %.0f: 90 %% of the memory of %" PRIu32
                        " x %s without the weights of %s (%.1f GB) and 4 GB",
                        service->name, service->limits.kv_tokens, service->tensor_parallel, device.name, model->name,
                        model->weight_bytes / 1e9);
}

/* ---- The engine ------------------------------------------------------------------------------------------ */

static void set_defaults(const cJSON *engine, struct hr_service *service) {
  enum { NO_LIMIT = 10000000, SHARED = 4096, SEQUENCES = 256, BATCH_TOKENS = 8192 };
  const bool phases = hr__has_phases(service);
  const uint32_t sequences = service->engine == HR_SERVICE_SINGLE ? SHARED : SEQUENCES;
  if (!hr__has(engine, "max_sequences")) service->limits.max_sequences = phases ? NO_LIMIT : sequences;
  if (!hr__has(engine, "max_batch_tokens")) service->limits.max_batch_tokens = phases ? NO_LIMIT : BATCH_TOKENS;
}

/* ---- Keys without effect ---------------------------------------------------------------------------- */

#define ENGINE(name) (1u << HR_SERVICE_##name)
#define PHASES (ENGINE(DISAGGREGATED) | ENGINE(COLOCATED))
#define WITH_BLOCKS (~(PHASES | ENGINE(DYNAMIC_BATCH) | ENGINE(SINGLE)))

/* The keys that only some engines use. */
static const struct {
  const char *name;
  unsigned engines; /* a set of bits 1 << enum hr_service_engine */
} used_by[] = {
    {"max_batch_tokens", ~(ENGINE(SARATHI) | ENGINE(ORCA_SPLITWISE) | ENGINE(DYNAMIC_BATCH) | ENGINE(SINGLE))},
    {"chunk_tokens", ENGINE(SARATHI)},
    {"block_tokens", WITH_BLOCKS},
    {"kv_blocks", WITH_BLOCKS},
    {"kv_tokens", WITH_BLOCKS},
    {"watermark", ENGINE(VLLM_V0) | ENGINE(SARATHI)},
    {"prefill_replicas", ENGINE(DISAGGREGATED)},
    {"decode_replicas", ENGINE(DISAGGREGATED)},
    {"chunked", PHASES},
    {"max_decode_sequences", PHASES},
    {"max_decode_tokens", ENGINE(COLOCATED)},
    {"decode_pressure", ENGINE(COLOCATED)},
    {"decode_context_tokens", PHASES},
    {"transfer", ENGINE(DISAGGREGATED)},
    {"preferred_batch_size", ENGINE(DYNAMIC_BATCH)},
    {"max_queue_delay_us", ENGINE(DYNAMIC_BATCH)},
    {"servers", ENGINE(SINGLE)},
    {"discipline", ENGINE(SINGLE)},
};

/* Adds a note on the keys that the engine does not use. They are not errors, so that engines can be compared by
   changing only the name of the engine. */
static enum hr_status note_unused(struct hr__builder *builder, const cJSON *engine, const struct hr_service *service) {
  char list[400] = "";
  size_t used = 0;
  for (size_t i = 0; i < sizeof used_by / sizeof *used_by; i++)
    if (hr__has(engine, used_by[i].name) && !(used_by[i].engines >> service->engine & 1))
      used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s'", used ? ", " : "", used_by[i].name);
  if (!used) return HR_OK;
  return hr__build_note(builder, "service '%.60s': without effect with the engine '%s': %s", service->name,
                        hr_service_engine_name(service->engine), list);
}

/* ---- Memory ----------------------------------------------------------------------------------------- */

static enum hr_status check_memory(struct hr__builder *builder, const cJSON *entry, struct hr_service *service) {
  const cJSON *engine = hr__get(hr__get(entry, "replica"), "engine");
  enum { MOST_SEQUENCES = 65536 };
  const struct hr_service_limits *limits = &service->limits;
  if (limits->kv_blocks && limits->kv_tokens > 0)
    return hr__build_fail_at(builder, engine, "kv_tokens", "'kv_blocks' and 'kv_tokens' exclude each other; keep one");
  if (limits->watermark >= 1 && (service->engine == HR_SERVICE_VLLM_V0 || service->engine == HR_SERVICE_SARATHI))
    return hr__build_fail_at(builder, engine, "watermark",
                             "expected less than 1, as a prompt that leaves all blocks free never starts");
  if (hr__has_phases(service)) return HR_OK;
  if (limits->max_sequences > MOST_SEQUENCES)
    return hr__build_fail_at(builder, engine, "max_sequences", "expected at most %d for the engine '%s'",
                             MOST_SEQUENCES, hr_service_engine_name(service->engine));
  if (service->engine == HR_SERVICE_DYNAMIC_BATCH || service->engine == HR_SERVICE_SINGLE) return HR_OK;
  return limits->kv_blocks || limits->kv_tokens > 0 ? HR_OK : default_memory(builder, entry, service);
}

/* ---- Phases ----------------------------------------------------------------------------------------- */

/* Sets the number of replicas of a disaggregated service to the sum of the numbers for its two phases. Another number
   in 'replicas' is an error. */
static enum hr_status count_replicas(const struct hr__builder *builder, const cJSON *entry,
                                     struct hr_service *service) {
  const uint32_t sum = service->phases.prefill_replicas + service->phases.decode_replicas;
  const cJSON *autoscale = hr__get(entry, "autoscale");
  if (service->engine != HR_SERVICE_DISAGGREGATED) return HR_OK;
  if (hr__has(autoscale, "replicas") && service->replicas != sum)
    return hr__build_fail_at(builder, autoscale, "replicas",
                             "expected %" PRIu32 ", the sum of 'prefill_replicas' and 'decode_replicas', or nothing",
                             sum);
  service->replicas = sum;
  return HR_OK;
}

static enum hr_status check_transfer(struct hr__builder *builder, const cJSON *engine,
                                     const struct hr_service *service) {
  const struct hr_service_link *link = &service->phases.link;
  if (link->gb_per_s > 0 && link->kv_bytes_per_token <= 0)
    return hr__build_fail(builder, hr__get(engine, "transfer"), "'gb_per_s' needs 'kv_bytes_per_token'");
  if (link->gb_per_s > 0 || link->kv_bytes_per_token <= 0 || service->engine != HR_SERVICE_DISAGGREGATED) return HR_OK;
  return hr__build_note(
      builder,
      "service '%.60s': 'transfer.kv_bytes_per_token' has no effect without 'gb_per_s'; the bytes take no time",
      service->name);
}

/* ---- Batches ---------------------------------------------------------------------------------------- */

static enum hr_status check_preferred(const struct hr__builder *builder, const cJSON *engine,
                                      const struct hr_service *service) {
  const uint32_t *sizes = service->dynamic.preferred;
  for (uint32_t i = 0; i < service->dynamic.n_preferred; i++) {
    const cJSON *entry = cJSON_GetArrayItem(hr__get(engine, "preferred_batch_size"), (int)i);
    if (sizes[i] > service->limits.max_sequences)
      return hr__build_fail(builder, entry, "%" PRIu32 " is above 'max_sequences' (%" PRIu32 ")", sizes[i],
                            service->limits.max_sequences);
    for (uint32_t k = 0; k < i; k++)
      if (sizes[k] == sizes[i]) return hr__build_fail(builder, entry, "duplicate size %" PRIu32 "; keep one", sizes[i]);
  }
  return HR_OK;
}

/* ---- Cost ------------------------------------------------------------------------------------------- */

/* Minimum time of an iteration in microseconds. A shorter time would be rounded to 0. */
#define LEAST_US 1e-3

/* Returns the minimum time of an iteration, in microseconds. With 'integer', times are rounded to whole microseconds.
   An engine with phases rounds them down, so its minimum is 1. */
static double least_us(const struct hr_service *service) {
  if (!service->cost.integer) return LEAST_US;
  return hr__has_phases(service) ? 1 : 0.5;
}

static double prompt_us(const struct hr_service_cost *cost, uint64_t tokens) {
  return hr__cost_us(cost, &(struct hr__batch_load){.prompts = tokens, .squares = tokens * tokens});
}

static double decode_us(const struct hr_service_cost *cost, uint64_t sequences) {
  return hr__cost_us(cost, &(struct hr__batch_load){.decodes = sequences, .context = sequences});
}

/* Checks that every iteration takes time. A table of times is linear between its knots, so its minimum is at a knot, at
   one token, or at the largest batch. In published tables, the times can decrease in the last segment. */
static enum hr_status check_knots(const struct hr__builder *builder, const cJSON *cost,
                                  const struct hr_service *service) {
  const struct hr_service_cost *values = &service->cost;
  const double shortest_us = least_us(service);
  const uint32_t most[] = {service->limits.max_batch_tokens, service->limits.max_sequences};
  const cJSON *table = hr__get(cost, "table");
  for (uint32_t i = 0; i < values->n_knots; i++) {
    const struct hr_service_knot *knot = &values->knots[i];
    const cJSON *entry = cJSON_GetArrayItem(table, (int)i);
    if (i > 0 && knot->tokens <= knot[-1].tokens)
      return hr__build_fail_at(builder, entry, "tokens", "expected more than the %g tokens of the knot before",
                               knot[-1].tokens);
    if (knot->tokens >= 1 && (knot->prompt_us < shortest_us || knot->token_us < shortest_us))
      return hr__build_fail_at(builder, entry, knot->prompt_us < shortest_us ? "prompt_us" : "token_us",
                               "an iteration takes no time; expected at least %g us", shortest_us);
  }
  for (unsigned i = 0; i < 2; i++) {
    double (*const time_us)(const struct hr_service_cost *, uint64_t) = i ? decode_us : prompt_us;
    const uint32_t tokens = time_us(values, 1) < shortest_us ? 1 : most[i];
    if (time_us(values, tokens) < shortest_us)
      return hr__build_fail(builder, table,
                            "an iteration with %" PRIu32
                            " %s takes no time, as '%s' is linear beyond the %s two knots; "
                            "add a knot, or lower '%s'",
                            tokens, i ? "decoding sequences" : "tokens of prompts", i ? "token_us" : "prompt_us",
                            tokens == 1 ? "first" : "last", i ? "max_sequences" : "max_batch_tokens");
  }
  if (hr__cost_us(values, &(struct hr__batch_load){.prompts = 1, .squares = 1, .decodes = 1}) < shortest_us)
    return hr__build_fail_at(builder, cost, "mixed_factor", "an iteration with prompts and decodes takes no time");
  return HR_OK;
}

/* Checks the terms of the cost in DistServe's form. Only the term of squared prompt tokens may be below 0. */
static enum hr_status check_phases(const struct hr__builder *builder, const cJSON *cost,
                                   const struct hr_service *service) {
  enum { LONG_PROMPT = 32768 };
  const struct hr_service_cost *values = &service->cost;
  const struct hr_service_phases *phases = &values->phases;
  const cJSON *form = hr__get(cost, "distserve");
  const struct {
    const char *name;
    const double *terms;
    int n_positive;
  } lists[] = {{"prefill_ms", phases->prefill_ms, 2},
               {"decode_ms", phases->decode_ms, 3},
               {"decode_large_ms", phases->large_ms, 3}};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    for (int k = 0; lists[i].terms && k < lists[i].n_positive; k++)
      if (lists[i].terms[k] < 0)
        return hr__build_fail(builder, cJSON_GetArrayItem(hr__get(form, lists[i].name), k),
                              "expected at least 0, found %g", lists[i].terms[k]);
  const uint32_t most = service->limits.max_batch_tokens;
  const uint32_t prompts[] = {1, most < LONG_PROMPT ? most : LONG_PROMPT};
  for (unsigned i = 0; i < 2; i++)
    if (prompt_us(values, prompts[i]) < LEAST_US)
      return hr__build_fail_at(builder, form, "prefill_ms",
                               "an iteration with %" PRIu32 " token%s of a prompt takes no time; raise the terms",
                               prompts[i], prompts[i] == 1 ? "" : "s");
  if (decode_us(values, 1) < LEAST_US)
    return hr__build_fail_at(builder, form, "decode_ms",
                             "an iteration with a decoding sequence takes no time; raise the terms");
  if (phases->large_ms && decode_us(values, phases->large_batch) < LEAST_US)
    return hr__build_fail_at(builder, form, "decode_large_ms",
                             "an iteration with %" PRIu32 " decoding sequences takes no time; raise the terms",
                             phases->large_batch);
  return HR_OK;
}

static enum hr_status check_cost(const struct hr__builder *builder, const cJSON *replica,
                                 const struct hr_service *service) {
  static const char *const terms[] = {"fixed_us", "per_prompt_token_us", "per_sequence_us", "per_context_ktoken_us"};
  const struct hr_service_cost *values = &service->cost;
  const cJSON *cost = hr__get(replica, "cost");
  const char *form = values->n_knots ? "table" : values->phases.prefill_ms ? "distserve" : NULL;
  if (values->n_knots && values->phases.prefill_ms)
    return hr__build_fail_at(builder, cost, "distserve", "'table' and 'distserve' exclude each other; keep one");
  for (size_t i = 0; form && i < sizeof terms / sizeof *terms; i++)
    if (hr__has(cost, terms[i]))
      return hr__build_fail_at(builder, cost, terms[i], "'%s' and '%s' exclude each other; keep one", terms[i], form);
  if (form) return (values->n_knots ? check_knots : check_phases)(builder, cost, service);
  const double once_us = values->fixed_us + values->per_prompt_token_us,
               next_us = values->fixed_us + values->per_sequence_us;
  if (once_us >= least_us(service) && next_us >= least_us(service)) return HR_OK;
  return hr__build_fail_at(builder, replica, "cost",
                           "an iteration takes no time%s; set 'fixed_us', or the times per token and per sequence",
                           values->integer ? " in whole microseconds ('integer')" : "");
}

/* Sets and checks `tensor_parallel`. By default, it is the number of GPUs of a replica, which it must not exceed. It
   affects only defaults that depend on the model. */
static enum hr_status check_parallel(struct hr__builder *builder, const cJSON *entry, struct hr_service *service) {
  const cJSON *replica = hr__get(entry, "replica");
  if (!service->tensor_parallel) service->tensor_parallel = service->gpus;
  if (!hr__has(replica, "tensor_parallel")) return HR_OK;
  if (service->model && service->tensor_parallel > service->gpus) {
    const uint32_t found = service->tensor_parallel;
    service->tensor_parallel = service->gpus; /* for a candidate, which is built although it cannot run */
    return hr__build_unfit(builder, hr__build_fail_at(builder, replica, "tensor_parallel",
                                                      "expected at most 'gpus', which is %" PRIu32 ", found %" PRIu32,
                                                      service->gpus, found));
  }
  if (service->model) return HR_OK;
  return hr__build_note(
      builder,
      "service '%.60s': 'tensor_parallel' has no effect without 'model'; times and memory are those of "
      "the replica",
      service->name);
}

enum hr_status hr__build_engine(struct hr__builder *builder, const cJSON *entry, struct hr_service *service) {
  const cJSON *replica = hr__get(entry, "replica"), *engine = hr__get(replica, "engine");
  set_defaults(engine, service);
  enum hr_status status = check_parallel(builder, entry, service);
  if (status == HR_OK) status = check_memory(builder, entry, service);
  if (status == HR_OK) status = count_replicas(builder, entry, service);
  if (status == HR_OK) status = check_transfer(builder, engine, service);
  if (status == HR_OK) status = check_preferred(builder, engine, service);
  if (status == HR_OK) status = note_unused(builder, engine, service);
  if (status != HR_OK) return status;
  status = hr__has(replica, "cost") ? check_cost(builder, replica, service) : default_cost(builder, entry, service);
  return status == HR_OK ? hr__note_other_gpus(builder, service) : status;
}
