/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom serve`: the planner in the browser. */

#include "headroom/unstable/serve.h"
#include "cli/cli.h"
#include "headroom/unstable/catalog.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct serve_args {
  const char *listen, *token_file;
  uint64_t port, workers, max_upload, max_memory, max_seconds, max_plan_seconds; /* 0: not set */
  bool open, allow_plugins;
  struct command command;
};

#define AT(field) offsetof(struct serve_args, field)
static const struct option options[] = {
    {"port", OPTION_WHOLE, AT(port), "N", "the port of the address (default: a free one)", 1, 65535},
    {"open", OPTION_FLAG, AT(open), NULL, "open the page in the browser"},
    {"listen", OPTION_TEXT, AT(listen), "ADDRESS",
     "listen on this address of the machine, so that other machines can connect; needs --token-file"},
    {"token-file", OPTION_TEXT, AT(token_file), "FILE",
     "read the token from a file that only its owner may read (default: a random token)"},
    {"allow-plugins", OPTION_FLAG, AT(allow_plugins), NULL,
     "let scenarios name policies in shared objects below DIR or elsewhere, which can do anything"},
    {"workers", OPTION_WHOLE, AT(workers), "N",
     "requests that run at the same time; others wait (default: number of processors)", 1, 64},
    {"max-upload", OPTION_WHOLE, AT(max_upload), "MIB", "the largest trace that can be uploaded (default: 512)", 1,
     1 << 20},
    {"max-memory", OPTION_WHOLE, AT(max_memory), "MIB", "the memory of a request (default: 2048)", 64, 1 << 20},
    {"max-seconds", OPTION_WHOLE, AT(max_seconds), "S", "the time of a request that is not a plan (default: 60)", 1,
     86400},
    {"max-plan-seconds", OPTION_WHOLE, AT(max_plan_seconds), "S", "the time of a plan (default: 3600)", 1, 86400},
    {0}};

static const char details[] = "The server prints an address with a random token. Only programs on this\n"
                              "machine that know the token get answers. It reads files below DIR (default: the\n"
                              "current folder) and those that ship with Headroom; nothing is sent to other\n"
                              "machines. docs/planner/serve.md describes the page, the limits and the HTTP\n"
                              "interface.\n"
                              "Exit code: 0 the server was ended (Ctrl+C), 2 bad input or usage, 4 system\n"
                              "failure.\n\n"
                              "Examples:\n"
                              "  headroom serve --open\n"
                              "  headroom serve plans/ --port 8080\n";

/* Enables huge pages for memory from malloc. The C library reads this setting only when a program starts, so the
   program executes itself again, once. With huge pages, a worker has a quarter of the page faults, and a run of 125,000
   jobs needs a tenth less time. If the C library is not glibc, or if the program cannot execute itself, nothing
   changes. */
static void use_huge_pages(const struct command *command) {
  static const char setting[] = "glibc.malloc.hugetlb=1";
  const char *old = getenv("GLIBC_TUNABLES");
  if (old && strstr(old, "glibc.malloc.hugetlb")) return;
  const size_t size = sizeof setting + 1 + (old ? strlen(old) : 0);
  char *text = malloc(size), **words = calloc((size_t)command->count + 1, sizeof *words);
  if (text && words) {
    stpcpy(stpcpy(stpcpy(text, old ? old : ""), old && *old ? ":" : ""), setting);
    for (int i = 0; i < command->count; i++) words[i] = command->words[i];
    if (setenv("GLIBC_TUNABLES", text, 1) == 0) execv("/proc/self/exe", words);
  }
  free(text);
  free(words);
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  const struct serve_args *serve = args;
  use_huge_pages(&serve->command);
  const struct hr_serve_config config = {.folder = operands->count ? operands->at[0] : NULL,
                                         .address = serve->listen,
                                         .token_file = serve->token_file,
                                         .port = (uint16_t)serve->port,
                                         .open = serve->open,
                                         .allow_plugins = serve->allow_plugins,
                                         .workers = (uint32_t)serve->workers,
                                         .max_upload_mib = serve->max_upload,
                                         .max_memory_mib = serve->max_memory,
                                         .max_seconds = (uint32_t)serve->max_seconds,
                                         .max_plan_seconds = (uint32_t)serve->max_plan_seconds,
                                         .command = run_command};
  struct hr_catalog *catalog = NULL;
  (void)hr_catalog_load(NULL, &catalog, NULL); /* on failure, each scenario reads it and reports the error */
  input_share_catalog(catalog);
  enum hr_status status = hr_serve(&config, error);
  input_share_catalog(NULL);
  hr_catalog_destroy(catalog);
  return status;
}

const struct verb verb_serve = {.name = "serve",
                                .operands = "[DIR]",
                                .summary = "plan in the browser: a local server with a page and an HTTP interface",
                                .details = details,
                                .options = options,
                                .args_bytes = sizeof(struct serve_args),
                                .command_at = AT(command),
                                .run = run_verb};
