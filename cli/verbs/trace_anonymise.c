/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace anonymise`: a trace without names. The key is never told, in no message and no file. */

#include "cli/cli.h"
#include "cli/verbs/trace_transform.h"
#include "headroom/unstable/trace_tools.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MOST_KEY_BYTES = 4096 };

struct anonymise_args {
  struct transform_args base;
  const char *key, *key_file, *shift, *drop;
  uint64_t digits;
  bool undated;
};

#define AT(field) offsetof(struct anonymise_args, field)
static const struct option options[] = {
    {.name = "key-file",
     .kind = OPTION_TEXT,
     .offset = AT(key_file),
     .value = "FILE",
     .help = "the key: what is in this file, up to 4096 bytes, less a line end behind it"},
    {.name = "key",
     .kind = OPTION_TEXT,
     .offset = AT(key),
     .value = "TEXT",
     .help = "the key itself, which others on the machine may then see while the program runs"},
    {.name = "digits",
     .kind = OPTION_WHOLE,
     .offset = AT(digits),
     .value = "N",
     .help = "hexadecimal digits of a pseudonym, 16 unless given",
     .min = HR_LEAST_PSEUDONYM_DIGITS,
     .max = HR_MOST_PSEUDONYM_DIGITS},
    {.name = "drop",
     .kind = OPTION_TEXT,
     .offset = AT(drop),
     .value = "FIELD,...",
     .help = "leave out what jobs tell here, e.g. user,model; fields are called as in --map"},
    {.name = "shift",
     .kind = OPTION_TEXT,
     .offset = AT(shift),
     .value = "TIME",
     .help = "let all times be so much later, as 100d or -36h"},
    {.name = "undated",
     .kind = OPTION_FLAG,
     .offset = AT(undated),
     .help = "let times be seconds from the first submit, whatever they were"},
    TRANSFORM_OPTIONS,
    {0}};

static const char details[] = "Job ids, users, tenants and models become pseudonyms (j-, u-, t-, m- and digits\n"
                              "of HMAC-SHA-256): the same name under the same key is the same pseudonym, in\n"
                              "every trace; without the key no name can be tried. What a simulation goes by\n"
                              "stays, and may tell who knows the cluster who a user is. docs/reference/traces.md.\n\n"
                              "Example:\n"
                              "  headroom trace anonymise jobs.csv --key-file secret --drop model -o shared.csv\n";

static void set_defaults(void *args) {
  *(struct anonymise_args *)args = (struct anonymise_args){.digits = HR_PSEUDONYM_DIGITS};
}

/* ---- The key ---------------------------------------------------------------------------------------- */

struct trace_anonymise_key {
  char bytes[MOST_KEY_BYTES + 1];
  size_t count;
};

static enum hr_status read_key(const char *path, struct trace_anonymise_key *key, struct hr_error *error) {
  FILE *file = fopen(path, "rb");
  if (!file) return hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  setvbuf(file, NULL, _IONBF, 0); /* the key is nowhere else in memory */
  key->count = fread(key->bytes, 1, sizeof key->bytes, file);
  bool failed = ferror(file);
  fclose(file);
  if (failed) return hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: is it a file?", path);
  if (key->count > MOST_KEY_BYTES)
    return hr_fail(error, HR_BAD_INPUT, "%s: a key of more than %d bytes; is it another file?", path, MOST_KEY_BYTES);
  if (key->count && key->bytes[key->count - 1] == '\n') key->count--;
  if (key->count && key->bytes[key->count - 1] == '\r') key->count--;
  return key->count ? HR_OK : hr_fail(error, HR_BAD_INPUT, "%s: there is no key in it", path);
}

static enum hr_status take_key(const struct anonymise_args *args, struct trace_anonymise_key *key,
                               struct hr_error *error) {
  if (!args->key == !args->key_file)
    return hr_fail(error, HR_BAD_INPUT,
                   "trace anonymise: one of --key-file FILE and --key TEXT is wanted: the key to hash names with\n"
                   "Try 'headroom help trace anonymise'.");
  if (args->key_file) return read_key(args->key_file, key, error);
  key->count = strlen(args->key);
  if (key->count == 0 || key->count > MOST_KEY_BYTES)
    return hr_fail(error, HR_BAD_INPUT, "--key: a key of 1 to %d bytes is wanted", MOST_KEY_BYTES);
  memcpy(key->bytes, args->key, key->count);
  return HR_OK;
}

static void forget_key(struct trace_anonymise_key *key) {
  volatile char *at = key->bytes; /* no store of these may be left out */
  for (size_t i = 0; i < sizeof key->bytes; i++) at[i] = 0;
}

/* ---- The verb --------------------------------------------------------------------------------------- */

static enum hr_status settle(const struct anonymise_args *args, const struct trace_anonymise_key *key,
                             struct hr_anonymise_spec *spec, struct hr_error *error) {
  hr_anonymise_spec_init(spec);
  spec->key = key->bytes;
  spec->key_bytes = key->count;
  spec->digits = (unsigned)args->digits;
  spec->undated = args->undated;
  if (args->undated && args->shift)
    return hr_fail(error, HR_BAD_INPUT, "--undated lets times begin at 0; leave --shift out, or --undated");
  enum hr_status status = args->shift ? hr_span_parse("shift", args->shift, true, &spec->shift_us, error) : HR_OK;
  struct hr_error inner = {0};
  if (status == HR_OK && args->drop && hr_fields_parse(args->drop, &spec->forget, &inner) != HR_OK)
    status = hr_fail(error, HR_BAD_INPUT, "--drop %.200s: %s", args->drop, inner.text);
  return status;
}

static enum hr_status anonymise(const struct anonymise_args *args, struct transform *transform,
                                struct trace_anonymise_key *key, struct hr_error *error) {
  struct hr_anonymise_spec spec;
  enum hr_status status = take_key(args, key, error);
  if (status == HR_OK) status = settle(args, key, &spec, error);
  if (status == HR_OK) status = transform_open(transform, error);
  if (status == HR_OK) status = hr_transform_anonymise(transform->traces[0], &spec, &transform->made, error);
  return status;
}

static enum hr_status run(const void *args, const struct words *operands, struct hr_error *error) {
  const struct anonymise_args *options_ = args;
  struct transform transform = {
      .args = &options_->base, .paths = operands, .action = "anonymise", .also_read = options_->key_file};
  struct trace_anonymise_key key = {.count = 0};
  enum hr_status status = anonymise(options_, &transform, &key, error);
  forget_key(&key);
  if (status == HR_OK) status = transform_tell(&transform, error);
  transform_finish(&transform);
  return status;
}

const struct verb verb_trace_anonymise = {.name = "trace anonymise",
                                          .operands = "TRACE",
                                          .min_operands = 1,
                                          .max_operands = 1,
                                          .summary = "make a trace's names pseudonyms by a key",
                                          .details = details,
                                          .options = options,
                                          .args_bytes = sizeof(struct anonymise_args),
                                          .set_defaults = set_defaults,
                                          .run = run};
