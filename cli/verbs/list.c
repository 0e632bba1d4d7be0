/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom list`: lists policies, trace formats, metrics, shipped scenarios and keys, 80 columns wide; keys also as a
   table in Markdown or a JSON Schema. The lists of the catalogue are GPU types and their names, MIG profiles, speeds of
   networks, links between regions, instances, prices, discounts and spot presets. --provider, --region, --gpu and
   --as-of select their rows. With --verbose, details that do not fit and the sources of the values are printed too. */

#include "cli/cli.h"
#include "headroom/headroom.h"
#include "headroom/unstable/capacity.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/metrics.h"
#include "headroom/unstable/scenario_files.h"
#include "headroom/unstable/trace_tools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The options of `headroom list`. */
struct list_args {
  bool verbose;
  const char *provider, *gpu;       /* NULL: all */
  const char *region;               /* NULL: the base region of each provider, but presets of all regions */
  const char *as_of;                /* NULL: the newest prices */
  const char *path;                 /* of `metrics`; NULL: all metrics */
  bool schema, markdown;            /* of `keys` */
  const struct hr_catalog *catalog; /* of lists of the catalogue */
};

static void print_source(const char *source) {
  printf("    ");
  print_wrapped(stdout, source, 4, 4);
}

/* ---- Catalogue: filters ----------------------------------------------------------------------------- */

/* Returns true if `wanted` is NULL or equal to `text`. The text "*" in the catalogue means all. */
static bool matches(const char *wanted, const char *text) {
  return !wanted || strcmp(text, "*") == 0 || strcasecmp(wanted, text) == 0;
}

/* Returns true if --gpu selects the GPU type. The value of --gpu may be any name of a type or of a family of types. */
static bool matches_gpu(const struct list_args *args, const char *gpu) {
  return !args->gpu || strcmp(gpu, "*") == 0 || hr_catalog_gpu_means(args->catalog, args->gpu, gpu);
}

/* Returns the provider of the instances that begin at `*at`, and sets `*at` to the first instance after them. */
static const char *provider_at(const struct hr_catalog *catalog, size_t *at) {
  const char *provider = catalog->instances[*at].provider;
  while (*at < catalog->n_instances && strcmp(catalog->instances[*at].provider, provider) == 0) ++*at;
  return provider;
}

/* Checks a region if no provider is set: it is valid if any provider has it. */
static enum hr_status check_any_region(const struct hr_catalog *catalog, const char *region, struct hr_error *error) {
  struct words known = {0};
  enum hr_status status = HR_OK;
  bool found = false;
  for (size_t i = 0; i < catalog->n_regions && status == HR_OK; i++) {
    found = found || strcasecmp(catalog->regions[i].name, region) == 0;
    status = words_add(&known, catalog->regions[i].name, error);
  }
  if (status == HR_OK && !found) {
    const char *nearest = known.count ? hr_nearest_word(region, known.at) : NULL;
    status = hr_fail(error, HR_BAD_INPUT, "no provider has a region '%.60s'%s%s%s", region,
                     nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
  }
  words_finish(&known);
  return status;
}

static enum hr_status check_args(const struct hr_catalog *catalog, const struct list_args *args,
                                 struct hr_error *error) {
  enum hr_status status = HR_OK;
  if (args->as_of && !hr_catalog_is_date(args->as_of))
    return hr_fail(error, HR_BAD_INPUT, "--as-of %.40s: expected a date such as 2026-07-20, 2026-07 or 2026",
                   args->as_of);
  if (args->provider) status = hr_catalog_check_provider(catalog, args->provider, error);
  if (status == HR_OK && args->gpu) status = hr_catalog_check_gpu_name(catalog, args->gpu, error);
  if (status != HR_OK || !args->region) return status;
  return args->provider ? hr_catalog_check_region(catalog, args->provider, args->region, error)
                        : check_any_region(catalog, args->region, error);
}

static void print_figure(int width, double figure) {
  if (figure == HR_UNKNOWN_NUMBER)
    printf("%*s", width, "-");
  else
    printf("%*g", width, figure);
}

/* ---- Catalogue: GPU types and MIG profiles ---------------------------------------------------------- */

static void print_gpu(const struct list_args *args, size_t row) {
  const struct hr_gpu_type *type = &args->catalog->gpus[row];
  if (!matches_gpu(args, type->name)) return;
  printf("%-10s%7g%9g%14g%7g%7g%9g%5s  %s\n", type->name, type->mem_gb, type->bandwidth_gb_s, type->fp16_tflops,
         type->tdp_w, type->idle_w, type->nvlink_gb_s, type->mig_slices > 0 ? "yes" : "no", type->status);
  if (!args->verbose) return;
  printf("    bf16_tflops");
  print_figure(6, type->bf16_tflops);
  printf("  fp32_tflops");
  print_figure(6, type->fp32_tflops);
  printf("  achievable");
  print_figure(6, type->achievable);
  printf("  pcie");
  print_figure(4, type->pcie_gb_s);
  printf("  mig %g\n", type->mig_slices);
  print_source(type->source);
}

/* Writes the memory slices at which an instance may begin, such as "0,2,4". */
static const char *starts_of(const struct hr_mig_profile *profile, char text[2 * HR_MIG_SLICES + 1]) {
  char *at = text;
  for (unsigned start = 0; start < HR_MIG_SLICES; start++)
    if (profile->starts >> start & 1) {
      if (at != text) *at++ = ',';
      *at++ = (char)('0' + start);
    }
  *at = '\0';
  return text;
}

/* Draws the possible positions of a profile's instances. A position is drawn as |---...| with four characters per
   memory slice. */
static void draw_mig_profile(const struct hr_mig_profile *profile, unsigned memory_slices) {
  enum { SLICE = 4 };
  char line[SLICE * HR_MIG_SLICES + 2];
  size_t end = 0;
  memset(line, ' ', sizeof line);
  for (unsigned start = 0; start < memory_slices; start++) {
    if (!(profile->starts >> start & 1)) continue;
    size_t length = (size_t)SLICE * profile->memory_slices;
    memset(line + SLICE * start, '-', length);
    line[SLICE * start] = '|';
    end = SLICE * start + length;
    line[end] = '|';
  }
  printf("    %-13s%.*s\n", profile->name, (int)end + 1, line);
}

static void print_layout(const struct hr_mig_type *type, const char *name, const struct hr_mig_gpu *gpu) {
  char text[HR_MIG_TEXT_BYTES];
  printf("    %-13s", name);
  print_wrapped(stdout, hr_mig_text(type, gpu, text, sizeof text), 17, 17);
}

static void draw_mig_type(const struct hr_mig_type *type) {
  struct hr_mig_gpu gpu;
  char name[20];
  printf("    %-12s", "memory slice");
  for (unsigned slice = 0; slice < type->memory_slices; slice++) printf("%3u ", slice);
  putchar('\n');
  for (unsigned i = 0; i < type->n_profiles; i++) draw_mig_profile(&type->profiles[i], type->memory_slices);
  if (hr_mig_layout(type, "all-balanced", &gpu, NULL) == HR_OK) print_layout(type, "all-balanced", &gpu);
  for (unsigned i = 0; hr_mig_group(type, i, &gpu); i++) {
    snprintf(name, sizeof name, "group%u", i + 1);
    print_layout(type, name, &gpu);
  }
}

/* Prints details below a row of MIG profiles. The source is printed below the last of the rows that have it. Drawings
   and layouts are printed below the last row of a GPU type. */
static void print_mig_details(const struct hr_catalog *catalog, size_t row) {
  const struct hr_mig_entry *entry = &catalog->mig_profiles[row];
  const struct hr_mig_type *type;
  bool last = row + 1 == catalog->n_mig_profiles, type_ends = last || strcmp(entry[1].gpu, entry->gpu) != 0;
  if (type_ends || strcmp(entry[1].source, entry->source) != 0) print_source(entry->source);
  if (type_ends && hr_catalog_mig(catalog, entry->gpu, &type, NULL) == HR_OK) draw_mig_type(type);
}

/* Checks that --gpu selects a type with MIG. */
static enum hr_status check_mig(const struct list_args *args, struct hr_error *error) {
  const struct hr_mig_type *type;
  enum hr_status status = HR_OK;
  for (size_t i = 0; args->gpu && i < args->catalog->n_gpus; i++) {
    if (!matches_gpu(args, args->catalog->gpus[i].name)) continue;
    status = hr_catalog_mig(args->catalog, args->catalog->gpus[i].name, &type, error);
    if (status == HR_OK) return HR_OK;
  }
  return status;
}

static void print_mig_profile(const struct list_args *args, size_t row) {
  const struct hr_mig_entry *entry = &args->catalog->mig_profiles[row];
  const struct hr_mig_profile *profile = &entry->profile;
  char starts[2 * HR_MIG_SLICES + 1];
  if (!matches_gpu(args, entry->gpu)) return;
  printf("%-10s%-13s%7u%6u%9u%5u%5u  %-14s %s\n", entry->gpu, profile->name, profile->compute_slices,
         profile->memory_slices, profile->mem_mib, profile->sms, profile->max_instances, starts_of(profile, starts),
         entry->status);
  if (args->verbose) print_mig_details(args->catalog, row);
}

/* ---- Catalogue: names of GPU types ------------------------------------------------------------------ */

static void print_gpu_name(const struct list_args *args, size_t row) {
  const struct hr_gpu_name *name = &args->catalog->gpu_names[row];
  if (!matches_gpu(args, name->gpu)) return;
  printf("%-20s%-12s%s\n", name->name, name->gpu, name->status);
  if (args->verbose) print_source(name->source);
}

/* ---- Catalogue: network speeds and instance types --------------------------------------------------- */

static void print_network_speed(const struct list_args *args, size_t row) {
  const struct hr_network_entry *entry = &args->catalog->network_speeds[row];
  printf("%-20s%-12s%7g%9g  %s\n", entry->model, hr_network_name(entry->network), entry->gpus,
         (double)entry->speed_ppm / 1e6, entry->status);
  if (args->verbose) print_source(entry->source);
}

static void print_region_link(const struct list_args *args, size_t row) {
  const struct hr_region_link *link = &args->catalog->region_links[row];
  printf("%-24s%-24s%8g", link->from, link->to, link->gbit_s);
  print_figure(9, link->rtt_ms);
  print_figure(9, link->usd_per_gb);
  printf("  %s\n", link->status);
  if (args->verbose) print_source(link->source);
}

static void print_instance(const struct list_args *args, size_t row) {
  const struct hr_instance_type *type = &args->catalog->instances[row];
  if (!matches(args->provider, type->provider) || !matches_gpu(args, type->gpu)) return;
  printf("%-11s%-26s%-8s%5g", type->provider, type->name, type->gpu, type->gpus);
  print_figure(6, type->vcpus);
  print_figure(8, type->mem_gib);
  print_figure(8, type->nvme_gb);
  printf(" %s\n", type->status);
  if (!args->verbose) return;
  printf("    network_gbit");
  print_figure(6, type->network_gbit);
  printf("\n");
  print_source(type->source);
}

/* ---- Catalogue: prices and discounts ---------------------------------------------------------------- */

static void print_quote(const struct hr_price_quote *quote, const char *market, bool verbose) {
  char gpus[40];
  snprintf(gpus, sizeof gpus, "%gx%s", quote->instance->gpus, quote->instance->gpu);
  printf("%-26s%-10s%-10s%8.3f%7.3f %-10s %s\n", quote->instance->name, gpus, market, (double)quote->uusd_h / 1e6,
         (double)hr_price_quote_gpu_uusd_h(quote) / 1e6, quote->as_of, quote->status);
  if (verbose) print_source(quote->source);
}

static void print_provider(const struct hr_price_quote *quote, const char *provider) {
  bool everywhere = strcmp(quote->region, "*") == 0;
  printf("\n%s, %s\n", provider, everywhere ? "all regions" : quote->region);
}

/* Prints the prices of all instances of a provider in all markets, and adds the number of prices to `*count`. */
static void print_prices_of(const struct hr_catalog *catalog, const struct list_args *args, const char *provider,
                            size_t *count) {
  static const struct {
    const char *name;
    enum hr_market market;
    const char *term;
  } markets[] = {{"on-demand", HR_MARKET_ON_DEMAND, ""},     {"1y", HR_MARKET_RESERVED, "1y"},
                 {"3y", HR_MARKET_RESERVED, "3y"},           {"block", HR_MARKET_RESERVED, "block"},
                 {"reserved", HR_MARKET_RESERVED, "untold"}, {"spot", HR_MARKET_SPOT, ""}};
  bool is_first = true;
  for (size_t i = 0; i < catalog->n_instances; i++) {
    const struct hr_instance_type *type = &catalog->instances[i];
    if (strcmp(type->provider, provider) != 0 || !matches_gpu(args, type->gpu)) continue;
    for (size_t k = 0; k < sizeof markets / sizeof *markets; k++) {
      const struct hr_price_query query = {.provider = provider,
                                           .instance = type->name,
                                           .region = args->region,
                                           .market = markets[k].market,
                                           .term = markets[k].term,
                                           .as_of = args->as_of};
      struct hr_price_quote quote;
      if (hr_catalog_price(catalog, &query, &quote, NULL) != HR_OK) continue;
      if (*count == 0) puts("instance                  gpus      market       usd_h  gpu_h as_of      figures");
      if (is_first) print_provider(&quote, provider);
      is_first = false;
      print_quote(&quote, markets[k].name, args->verbose);
      ++*count;
    }
  }
}

static enum hr_status list_prices(const struct list_args *args, struct hr_error *error) {
  const struct hr_catalog *catalog = args->catalog;
  size_t count = 0;
  for (size_t i = 0; i < catalog->n_instances;) {
    const char *provider = provider_at(catalog, &i);
    if (matches(args->provider, provider)) print_prices_of(catalog, args, provider, &count);
  }
  if (count) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "list prices: the catalogue has no price of this provider, region, GPU and date");
}

static bool matches_discount(const struct list_args *args, const struct hr_discount *discount) {
  bool is_later = args->as_of && strncmp(discount->as_of, args->as_of, strlen(args->as_of)) > 0;
  return !is_later && matches(args->provider, discount->provider);
}

static void print_discount(const struct hr_discount *discount, bool verbose) {
  printf("%-12s%-14s%-8s%-10s%8g  %-12s%s\n", discount->provider, discount->family, discount->term,
         discount->upfront[0] ? discount->upfront : "any", (double)discount->off_ppm / 1e4, discount->as_of,
         discount->status);
  if (verbose) print_source(discount->source);
}

static enum hr_status list_discounts(const struct list_args *args, struct hr_error *error) {
  const struct hr_catalog *catalog = args->catalog;
  size_t count = 0;
  for (size_t i = 0; i < catalog->n_discounts; i++) {
    if (!matches_discount(args, &catalog->discounts[i])) continue;
    if (count++ == 0) puts("provider    family        term    upfront    off_pct  as_of       figures");
    print_discount(&catalog->discounts[i], args->verbose);
  }
  if (count) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "list discounts: the catalogue has no discount of this provider and date");
}

/* ---- Catalogue: spot presets ------------------------------------------------------------------------ */

/* Returns the mean of a log-normal duration in hours. The parameters are those of the logarithm of seconds. */
static double mean_h(const struct hr_duration *duration) {
  return exp(duration->a + duration->b * duration->b / 2) / 3600;
}

static void print_preset_details(const struct hr_spot_preset *preset) {
  const struct hr_spot_spec *spec = &preset->spec;
  printf("    notice %g s", (double)spec->notice_us / (double)HR_SECOND_US);
  if (preset->discount != HR_UNKNOWN_NUMBER) printf(", about %g %% off on-demand", preset->discount * 100);
  if (spec->model == HR_SPOT_EXPONENTIAL) printf(", %g nodes at once on average", spec->batch_mean);
  if (spec->model == HR_SPOT_BATHTUB) printf(", ends at %g h", spec->bathtub.last_h);
  if (spec->model == HR_SPOT_ON_OFF)
    printf(", mean up %.3g h, mean down %.3g h", mean_h(&spec->up), mean_h(&spec->down));
  printf("\n");
  print_source(preset->source);
}

/* Returns the interruptions of a node per hour in which it is up; HR_UNKNOWN_NUMBER for the bathtub model, which has no
   constant rate. */
static double interruptions_per_h(const struct hr_spot_spec *spec) {
  if (spec->model == HR_SPOT_BATHTUB) return HR_UNKNOWN_NUMBER;
  return spec->model == HR_SPOT_ON_OFF ? 1 / mean_h(&spec->up) : spec->rate_per_h;
}

static void print_spot_preset(const struct list_args *args, size_t row) {
  const struct hr_spot_preset *preset = &args->catalog->spot_presets[row];
  if (!matches(args->provider, preset->provider) || !matches_gpu(args, preset->gpu) ||
      !matches(args->region, preset->region))
    return;
  double rate = interruptions_per_h(&preset->spec);
  char text[20] = "-";
  if (rate != HR_UNKNOWN_NUMBER) snprintf(text, sizeof text, "%.3g", rate);
  printf("%-19s%-9s%-9s%-11s%-12s%10s  %s\n", preset->name, preset->provider, preset->gpu, preset->region,
         hr_spot_model_name(preset->spec.model), text, preset->status);
  if (args->verbose) print_preset_details(preset);
}

/* ---- Options ---------------------------------------------------------------------------------------- */

#define AT(field) offsetof(struct list_args, field)

static const struct option options[] = {
    {"verbose", OPTION_FLAG, AT(verbose), NULL,
     "print parameters of policies, definitions of metrics, sources of figures, full descriptions", .letter = 'v'},
    {"provider", OPTION_TEXT, AT(provider), "NAME", "only instances, prices, discounts and presets of this provider"},
    {"region", OPTION_TEXT, AT(region), "NAME",
     "prices in this region instead of each provider's base region; presets of this region"},
    {"gpu", OPTION_TEXT, AT(gpu), "TYPE",
     "only MIG profiles, instances, prices and presets of this GPU, under any of its names (list gpu-names)"},
    {"as-of", OPTION_TEXT, AT(as_of), "DATE",
     "prices and discounts on a day (2025-05-01), in a month (2025-05) or a year (2025)"},
    {"path", OPTION_TEXT, AT(path), "BEGIN", "only metrics with paths that begin with this, such as wait_s or cost."},
    {"schema", OPTION_FLAG, AT(schema), NULL, "print the keys as a JSON Schema of scenarios"},
    {"markdown", OPTION_FLAG, AT(markdown), NULL, "print the keys as a table in Markdown"},
    {0}};

static const char details[] = "policies      scheduling policies and aliases for their settings; -v: parameters\n"
                              "placements    rules of 'headroom fill' that choose node and GPUs of a task\n"
                              "formats       trace formats that can be read\n"
                              "fields        fields for --map and for 'trace anonymise --drop'\n"
                              "findings      kinds of findings of 'trace check', and what they mean\n"
                              "metrics       metrics: path in JSON, unit, better direction; -v: definitions\n"
                              "scenarios     scenario files that ship with Headroom\n"
                              "keys          keys of scenarios, or those of a PATH; -v: the whole help\n"
                              "gpus          GPU types: memory, speed, power\n"
                              "gpu-names     names of GPU types in Slurm, Kubernetes, clouds and nvidia-smi\n"
                              "mig-profiles  MIG profiles: slices, memory, positions; -v: drawings, layouts\n"
                              "network-speeds\n              relative speed of models on several nodes, by network\n"
                              "region-links\n              bandwidth and price of data between regions of clouds\n"
                              "instances     instance types of providers: GPUs, processors, memory, disks\n"
                              "prices        USD per hour of an instance and of a GPU, by market and term\n"
                              "discounts     discounts of commitments and spot from the on-demand price\n"
                              "spot-presets  models of spot interruptions\n"
                              "\nFigures are quoted from a source, derived, assumed or mixed; -v prints sources.\n"
                              "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom list scenarios\n"
                              "  headroom list keys cluster.pools.0.topology\n"
                              "  headroom list prices --provider aws --gpu H100 --as-of 2025-05\n";

/* ---- Policies --------------------------------------------------------------------------------------- */

static void write_values(FILE *out, const void *what) {
  const struct hr_param *param = what;
  fprintf(out, "%s = ", param->key);
  switch (param->type) {
  case HR_PARAM_CHOICE:
    for (size_t i = 0; param->choices[i]; i++) fprintf(out, "%s%s", i ? " | " : "", param->choices[i]);
    break;
  case HR_PARAM_INTEGER:
  case HR_PARAM_REAL:
    fprintf(out, "%s from %.15g to %.15g", param->type == HR_PARAM_INTEGER ? "whole number" : "number", param->min,
            param->max);
    break;
  case HR_PARAM_BOOLEAN:
    fprintf(out, "true | false");
    break;
  }
  fprintf(out, " (default: %s)", param->fallback);
}

static void print_param(const struct hr_param *param) {
  printf("    ");
  print_wrapped_from(stdout, write_values, param, 4, 8);
  printf("      ");
  print_wrapped(stdout, param->help, 6, 6);
}

enum { NAME_COLUMN = 14 };

/* Prints a name in its column. The text that follows starts in the next column; after a long name it starts on the next
   line. */
static void print_name(const char *name) {
  printf("%-*s", NAME_COLUMN, name);
  if (strlen(name) >= NAME_COLUMN) printf("\n%*s", NAME_COLUMN, "");
}

static void print_entry(const char *name, const char *text) {
  print_name(name);
  print_wrapped(stdout, text, NAME_COLUMN, NAME_COLUMN);
}

static void print_setting(const struct hr_policy_setting *setting) {
  print_name(setting->name);
  printf("alias for %s:", setting->policy);
  for (const struct hr_policy_value *at = setting->values; at->key; at++)
    printf("%s%s=%s", at == setting->values ? "" : ",", at->key, at->value);
  putchar('\n');
}

static enum hr_status list_policies(const struct list_args *args, struct hr_error *error) {
  (void)error;
  for (const struct hr_policy_ops *const *at = hr_policies(); *at; at++) {
    print_entry((*at)->name, (*at)->summary);
    for (const struct hr_param *param = (*at)->params; args->verbose && param && param->key; param++)
      print_param(param);
  }
  for (const struct hr_policy_setting *at = hr_policy_settings(); at->name; at++) print_setting(at);
  return HR_OK;
}

/* ---- Placements ------------------------------------------------------------------------------------- */

static void list_placements(void) {
  for (const struct hr_packing_rule *const *at = hr_packing_rules(); *at; at++)
    print_entry((*at)->name, (*at)->summary);
}

/* ---- Formats ---------------------------------------------------------------------------------------- */

static void list_formats(void) {
  for (const struct hr_trace_format *at = hr_trace_formats(); at->name; at++) print_entry(at->name, at->summary);
}

static void list_fields(void) {
  for (const struct hr_trace_field *at = hr_trace_fields(); at->name; at++) {
    print_name(at->name);
    printf("column %s%s\n", at->column, at->must_exist ? ", required" : "");
  }
}

static void list_findings(void) {
  for (int code = 0; code < HR_N_FINDINGS; code++) {
    const char *meaning = hr_finding_meaning((enum hr_finding_code)code);
    print_entry(hr_finding_name((enum hr_finding_code)code), meaning ? meaning : "(for information)");
  }
}

/* ---- Metrics ---------------------------------------------------------------------------------------- */

static enum hr_status list_metrics(const struct list_args *args, struct hr_error *error) {
  enum { PATH_WIDTH = 30, UNIT_WIDTH = 10, BETTER_WIDTH = 7, TITLE_AT = PATH_WIDTH + UNIT_WIDTH + BETTER_WIDTH };
  const struct hr_metric *metrics;
  size_t n_metrics = hr_metrics(&metrics), n_listed = 0;
  for (size_t i = 0; i < n_metrics; i++) {
    const struct hr_metric *metric = &metrics[i];
    if (args->path && strncmp(metric->path, args->path, strlen(args->path)) != 0) continue;
    if (n_listed++ == 0)
      printf("%-*s%-*s%-*s%s\n", PATH_WIDTH, "metric", UNIT_WIDTH, "unit", BETTER_WIDTH, "better", "title");
    printf("%-*s", PATH_WIDTH, metric->path);
    if (strlen(metric->path) >= PATH_WIDTH) printf("\n%*s", PATH_WIDTH, "");
    printf("%-*s%-*s", UNIT_WIDTH, hr_unit_name(metric->unit), BETTER_WIDTH, hr_direction_name(metric->direction));
    print_wrapped(stdout, metric->title, TITLE_AT, TITLE_AT);
    if (!args->verbose) continue;
    printf("    ");
    print_wrapped(stdout, metric->help, 4, 4);
  }
  return n_listed ? HR_OK : hr_fail(error, HR_BAD_INPUT, "list metrics: no metric begins with '%.60s'", args->path);
}

/* ---- Scenarios -------------------------------------------------------------------------------------- */

/* Prints the first sentence, up to a colon or a full stop. */
static void print_first_sentence(const char *description) {
  char sentence[200];
  size_t length = strcspn(description, ":");
  const char *stop = strstr(description, ". ");
  if (stop && (size_t)(stop - description) < length) length = (size_t)(stop - description);
  snprintf(sentence, sizeof sentence, "%.*s", (int)length, description);
  print_wrapped(stdout, sentence, NAME_COLUMN, NAME_COLUMN);
}

static enum hr_status list_scenarios(const struct list_args *args, struct hr_error *error) {
  struct hr_scenario_entry *entries;
  size_t count;
  enum hr_status status = hr_scenario_list(&entries, &count, error);
  if (status != HR_OK) return status;
  for (size_t i = 0; i < count; i++) {
    print_name(entries[i].name);
    if (args->verbose)
      print_wrapped(stdout, entries[i].description, NAME_COLUMN, NAME_COLUMN);
    else
      print_first_sentence(entries[i].description);
    printf("%*s%s\n", NAME_COLUMN, "", entries[i].path);
  }
  hr_scenario_list_free(entries, count);
  return HR_OK;
}

/* ---- Keys of scenario files ------------------------------------------------------------------------- */

static void write_facts(FILE *out, const void *what) {
  const struct hr_scenario_key *key = what;
  fputs(key->type, out);
  if (key->unit) fprintf(out, ", in %s", key->unit);
  if (key->required) fputs("; required", out);
  if (key->fallback) fprintf(out, "; default: %s", key->fallback);
  if (key->only_with) fprintf(out, "; only with %s", key->only_with);
  if (key->newer) fprintf(out, "; old name of %s", key->newer);
}

static void write_first_sentence(FILE *out, const void *what) {
  const struct hr_scenario_key *key = what;
  const char *stop = strstr(key->help, ". ");
  fprintf(out, "%.*s", stop ? (int)(stop - key->help) + 1 : (int)strlen(key->help), key->help);
}

static void print_key(const struct hr_scenario_key *key, bool verbose) {
  printf("%s\n    ", key->path);
  print_wrapped_from(stdout, write_facts, key, 4, 4);
  if (!key->help || !key->help[0]) return;
  printf("    ");
  if (verbose)
    print_wrapped(stdout, key->help, 4, 4);
  else
    print_wrapped_from(stdout, write_first_sentence, key, 4, 4);
}

/* ---- Markdown --------------------------------------------------------------------------------------- */

/* Prints a cell of a table. Some characters have a meaning in Markdown. */
static void print_cell(const char *text) {
  putchar(' ');
  for (; *text; text++) {
    if (strchr("|<*_", *text)) putchar('\\');
    putchar(*text);
  }
  fputs(" |", stdout);
}

/* Prints the row of a key. A list of choices with more than LONG_LIST characters is omitted; `list keys PATH` prints
 * it.
 */
static void print_row(const struct hr_scenario_key *key, const char *name) {
  enum { LONG_LIST = 100 };
  char text[1600];
  bool is_long = strncmp(key->type, "one of ", strlen("one of ")) == 0 && strlen(key->type) > LONG_LIST;
  size_t length = strlen(key->help);
  const char *stop = length && key->help[length - 1] != '.' ? "." : "";
  printf("| `%s` |", name);
  snprintf(text, sizeof text, "%s%s%s", is_long ? "one of many names" : key->type, key->unit ? ", in " : "",
           key->unit ? key->unit : "");
  print_cell(text);
  print_cell(key->required ? "required" : key->fallback ? key->fallback : "");
  snprintf(text, sizeof text, "%s%s%s%s%s%s", key->help, stop,
           is_long ? " 'headroom list keys' with the path of the key prints all names." : "",
           key->only_with ? " Only with " : "", key->only_with ? key->only_with : "", key->only_with ? "." : "");
  print_cell(text);
  putchar('\n');
}

/* Returns the name of the key in the object at `path`, or in the entries of the list at `path`; NULL if it is not a
   member. */
static const char *name_in(const struct hr_scenario_key *key, const char *path) {
  size_t length = strlen(path);
  if (strncmp(key->path, path, length) != 0) return NULL;
  const char *name = key->path + length;
  if (length && *name++ != '.') return NULL;
  if (strncmp(name, "*.", 2) == 0) name += 2;
  return *name && !strchr(name, '.') && key->help ? name : NULL;
}

/* Prints a table for the object at `path`, and one for each object below it. */
static void print_tables(const struct hr_scenario_key *keys, size_t count, const char *path) {
  for (size_t i = 0; i <= count; i++) {
    const char *object = i ? keys[i - 1].path : path;
    bool has_head = false;
    size_t length = strlen(object);
    if ((i && strcmp(object, path) == 0) || (length > 1 && strcmp(object + length - 2, ".*") == 0)) continue;
    for (size_t k = 0; k < count; k++) {
      const char *name = name_in(&keys[k], object);
      if (!name) continue;
      if (!has_head)
        printf("%s`%s`:\n\n| key | type | default | meaning |\n|---|---|---|---|\n", i ? "\n" : "",
               *object ? object : "(scenario)");
      has_head = true;
      print_row(&keys[k], name);
    }
  }
}

/* Lists the members of the key `path`, or all keys: as text, as a table in Markdown, or as a JSON Schema. */
static enum hr_status list_keys(const char *path, const struct list_args *args, struct hr_error *error) {
  struct hr_scenario_key *keys;
  size_t count;
  char *json;
  if (args->schema) {
    enum hr_status status = hr_scenario_schema(&json, error);
    if (status == HR_OK) fputs(json, stdout);
    if (status == HR_OK) free(json);
    return status;
  }
  enum hr_status status = hr_scenario_keys(path, &keys, &count, error);
  if (status != HR_OK) return status;
  if (args->markdown) print_tables(keys, count, path);
  for (size_t i = 0; i < count && !args->markdown; i++) print_key(&keys[i], args->verbose);
  hr_scenario_keys_free(keys, count);
  return HR_OK;
}

/* ---- The verb --------------------------------------------------------------------------------------- */

enum list_filter {
  BY_PROVIDER = 1,
  BY_REGION = 2,
  BY_GPU = 4,
  BY_DATE = 8,
  BY_PATH = 16,
  OF_CATALOG = 32,
  OF_KEYS = 64
};

#define COUNT_AT(member) offsetof(struct hr_catalog, member)

/* A list is printed by `print`, `show`, `print_row` or list_keys. */
static const struct list_list {
  const char *name;
  unsigned filters; /* the options that apply, and which data the list needs */
  /* prints the list; if print_row is set: checks options */
  enum hr_status (*print)(const struct list_args *args, struct hr_error *error);
  /* of a table of the catalogue: the function that prints a row if the options select it; the line above the rows; and
     the offset of the number of rows in struct hr_catalog */
  void (*print_row)(const struct list_args *args, size_t row);
  const char *head;
  size_t count_at;
  void (*show)(void); /* prints a list to which no options apply */
} lists[] = {
    {"policies", 0, list_policies},
    {"placements", 0, .show = list_placements},
    {"formats", 0, .show = list_formats},
    {"fields", 0, .show = list_fields},
    {"findings", 0, .show = list_findings},
    {"metrics", BY_PATH, list_metrics},
    {"scenarios", 0, list_scenarios},
    {"keys", OF_KEYS},
    {"gpus", OF_CATALOG | BY_GPU, NULL, print_gpu,
     "gpu        mem_gb gb_per_s   fp16_tflops  tdp_w idle_w   nvlink  mig  figures", COUNT_AT(n_gpus)},
    {"gpu-names", OF_CATALOG | BY_GPU, NULL, print_gpu_name, "name                gpu         figures",
     COUNT_AT(n_gpu_names)},
    {"mig-profiles", OF_CATALOG | BY_GPU, check_mig, print_mig_profile,
     "gpu       profile      compute   mem  mem_mib  sms  max  starts         figures", COUNT_AT(n_mig_profiles)},
    {"network-speeds", OF_CATALOG, NULL, print_network_speed,
     "model               network        gpus    speed  figures", COUNT_AT(n_network_speeds)},
    {"region-links", OF_CATALOG, NULL, print_region_link,
     "from                    to                        Gbit/s   RTT ms     $/GB  figures", COUNT_AT(n_region_links)},
    {"instances", OF_CATALOG | BY_PROVIDER | BY_GPU, NULL, print_instance,
     "provider   instance                  gpu      gpus vcpus mem_gib nvme_gb figures", COUNT_AT(n_instances)},
    {"prices", OF_CATALOG | BY_PROVIDER | BY_REGION | BY_GPU | BY_DATE, list_prices},
    {"discounts", OF_CATALOG | BY_PROVIDER | BY_DATE, list_discounts},
    {"spot-presets", OF_CATALOG | BY_PROVIDER | BY_REGION | BY_GPU, NULL, print_spot_preset,
     "preset             provider gpu      region     model       per_node_h  figures", COUNT_AT(n_spot_presets)}};
enum { N_LISTS = sizeof lists / sizeof *lists };

/* Prints a list of the catalogue. Returns HR_BAD_INPUT for an unknown provider, region or GPU type, or an invalid
   date. */
static enum hr_status list_catalog(const struct list_list *list, const struct list_args *args, struct hr_error *error) {
  struct list_args with_catalog = *args;
  struct hr_catalog *catalog;
  enum hr_status status = hr_catalog_load(NULL, &catalog, error);
  if (status != HR_OK) return status;
  with_catalog.catalog = catalog;
  status = check_args(catalog, args, error);
  if (status == HR_OK && list->print) status = list->print(&with_catalog, error);
  if (status == HR_OK && list->head) {
    size_t count;
    memcpy(&count, (const char *)catalog + list->count_at, sizeof count);
    puts(list->head);
    for (size_t i = 0; i < count; i++) list->print_row(&with_catalog, i);
  }
  hr_catalog_destroy(catalog);
  return status;
}

static enum hr_status print_list(const struct list_list *list, const struct list_args *args, const char *path,
                                 struct hr_error *error) {
  const struct {
    const char *name, *value;
    enum list_filter filter;
  } set[] = {{"provider", args->provider, BY_PROVIDER},
             {"region", args->region, BY_REGION},
             {"gpu", args->gpu, BY_GPU},
             {"as-of", args->as_of, BY_DATE},
             {"path", args->path, BY_PATH},
             {"schema", args->schema ? "" : NULL, OF_KEYS},
             {"markdown", args->markdown ? "" : NULL, OF_KEYS}};
  for (size_t i = 0; i < sizeof set / sizeof *set; i++)
    if (set[i].value && !(list->filters & set[i].filter))
      return hr_fail(error, HR_BAD_INPUT, "option '--%s' cannot be used with 'list %s'", set[i].name, list->name);
  if (path && !(list->filters & OF_KEYS))
    return hr_fail(error, HR_BAD_INPUT, "list: unexpected argument '%.60s'", path);
  if (list->show) {
    list->show();
    return HR_OK;
  }
  if (list->filters & OF_KEYS) return list_keys(path ? path : "", args, error);
  return list->filters & OF_CATALOG ? list_catalog(list, args, error) : list->print(args, error);
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  const char *names[N_LISTS + 1] = {0}, *path = operands->count > 1 ? operands->at[1] : NULL;
  for (size_t i = 0; i < N_LISTS; i++) {
    if (strcmp(lists[i].name, operands->at[0]) == 0) return print_list(&lists[i], args, path, error);
    names[i] = lists[i].name;
  }
  return unknown_word("list", operands->at[0], names, error);
}

const struct verb verb_list = {
    .name = "list",
    .operands = "WHAT [PATH]",
    .summary = "list policies, placement rules, trace formats, metrics, scenarios, keys, GPU types or prices",
    .details = details,
    .options = options,
    .args_bytes = sizeof(struct list_args),
    .run = run_verb};
