/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings and folders of a server. Files that ship with Headroom are two folders beside each other, scenarios and
   traces, because scenarios name their traces relative to themselves. */

#include "serve/exchange.h"

#include "base/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILES = 2048 };

static void set_defaults(struct hr_serve_config *settings) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  uint32_t count = processors < 1 ? 1 : (uint32_t)processors;
  if (!settings->folder) settings->folder = ".";
  if (!settings->address) settings->address = "127.0.0.1";
  if (!settings->workers) settings->workers = count;
  if (!settings->threads) settings->threads = count;
  if (!settings->max_upload_mib) settings->max_upload_mib = HR_SERVE_MAX_UPLOAD_MIB;
  if (!settings->max_memory_mib) settings->max_memory_mib = HR_SERVE_MAX_MEMORY_MIB;
  if (!settings->max_seconds) settings->max_seconds = HR_SERVE_MAX_SECONDS;
  if (!settings->max_plan_seconds) settings->max_plan_seconds = HR_SERVE_MAX_PLAN_SECONDS;
}

static enum hr_status find_folder(struct hr__server *server, struct hr_error *error) {
  struct stat info;
  const char *folder = server->config->folder;
  server->folder = realpath(folder, NULL);
  if (!server->folder) return hr_fail(error, HR_BAD_INPUT, "%s: %s", folder, strerror(errno));
  if (stat(server->folder, &info) == 0 && S_ISDIR(info.st_mode)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: is not a folder", folder);
}

static enum hr_status make_scratch(struct hr__server *server, struct hr_error *error) {
  const char *parent = getenv("TMPDIR");
  char path[4096];
  if (!parent || !parent[0]) parent = "/tmp";
  int length = snprintf(path, sizeof path, "%s/headroom-serve-XXXXXX", parent);
  if (length < 0 || (size_t)length >= sizeof path || !mkdtemp(path))
    return hr_fail(error, HR_IO_ERROR, "%s: a temporary folder cannot be created: %s", parent, strerror(errno));
  server->scratch = realpath(path, NULL);
  return server->scratch ? HR_OK : hr_fail(error, HR_IO_ERROR, "%s: %s", path, strerror(errno));
}

/* The folder `name` beside the folder of the shipped scenarios, or that folder itself if `name` is NULL. */
static char *shipped_folder(const char *scenario, const char *name) {
  char path[4096];
  const char *slash = strrchr(scenario, '/');
  int length = slash ? (int)(slash - scenario) : 0;
  snprintf(path, sizeof path, "%.*s%s%s", length, scenario, name ? "/../" : "", name ? name : "");
  return slash ? realpath(path, NULL) : NULL;
}

/* Adds a folder or a single file that workers may read, and takes the path. */
static enum hr_status allow(struct hr__server *server, char *path, struct hr_error *error) {
  size_t count = server->rules.n_folders;
  char **folders = path ? realloc(server->folders, (count + 1) * sizeof *folders) : NULL;
  if (!folders) {
    free(path);
    return hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  server->folders = folders;
  folders[count] = path;
  server->rules.n_folders++;
  return HR_OK;
}

static bool is_allowed(const struct hr__server *server, const char *path) {
  for (size_t i = 0; i < server->rules.n_folders; i++)
    if (hr__is_below(path, server->folders[i])) return true;
  return false;
}

/* Shipped scenarios may name data elsewhere, such as public traces beside the checkout. Workers may read just these
   files. */
static enum hr_status allow_data(struct hr__server *server, const struct hr__shipped_state *state,
                                 struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < state->n_files && status == HR_OK; i++)
    if (!is_allowed(server, state->files[i])) status = allow(server, strdup(state->files[i]), error);
  return status;
}

/* Without shipped files, a server works with the user's. */
static enum hr_status find_shipped(struct hr__server *server, struct hr_error *error) {
  if (hr_scenario_list(&server->shipped, &server->n_shipped, NULL) != HR_OK || !server->n_shipped) return HR_OK;
  const char *first = server->shipped[0].path;
  char *found[] = {shipped_folder(first, NULL), shipped_folder(first, "traces")};
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof found / sizeof *found; i++)
    if (found[i] && allow(server, found[i], error) != HR_OK) status = HR_NO_MEMORY;
  server->data_folder = shipped_folder(first, ".");
  server->shipped_folder = status == HR_OK ? found[0] : NULL;
  server->shipped_name = status == HR_OK && found[0] ? strrchr(found[0], '/') + 1 : "";
  server->shipped_states = calloc(server->n_shipped, sizeof *server->shipped_states);
  if (!server->shipped_states) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (size_t i = 0; i < server->n_shipped && status == HR_OK; i++) {
    status = hr__shipped_look(server->shipped[i].path, &server->shipped_states[i], error);
    if (status == HR_OK) status = allow_data(server, &server->shipped_states[i], error);
  }
  return status;
}

static void set_rules(struct hr__server *server) {
  const struct hr_serve_config *config = server->config;
  server->max_workers = config->workers;
  server->rules.command = config->command;
  server->rules.folder = server->folder;
  server->rules.folders = (const char *const *)server->folders;
  server->rules.scratch = server->scratch;
  server->rules.data_folder = server->data_folder;
  server->rules.allow_plugins = config->allow_plugins;
  server->rules.memory_bytes = config->max_memory_mib << 20;
  server->rules.file_bytes = UINT64_C(8) * (config->max_upload_mib << 20);
  server->rules.run_s = config->max_seconds;
  server->rules.plan_s = config->max_plan_seconds;
  server->world = (struct hr__request_world){.scratch = server->scratch,
                                             .folder = server->folder,
                                             .shipped_folder = server->shipped_name,
                                             .uploads = &server->uploads,
                                             .shipped = server->shipped,
                                             .n_shipped = server->n_shipped,
                                             .threads = config->threads};
}

/* A worker closes all files of its server, so their numbers are bounded. */
static void limit_files(void) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max < MAX_FILES ? files.rlim_max : MAX_FILES;
  setrlimit(RLIMIT_NOFILE, &files);
}

enum hr_status hr__serve_prepare(struct hr__server *server, struct hr_serve_config *settings, struct hr_error *error) {
  bool is_local = !settings->address || strcmp(settings->address, "127.0.0.1") == 0;
  if (!is_local && !settings->token_file)
    return hr_fail(error, HR_BAD_INPUT, "--listen %s: other machines can connect, so --token-file is needed",
                   settings->address);
  set_defaults(settings);
  server->config = settings;
  server->address = settings->address;
  enum hr_status status = settings->token_file ? hr__token_read(settings->token_file, server->token, error)
                                               : hr__token_make(server->token, error);
  if (status == HR_OK) status = find_folder(server, error);
  if (status == HR_OK) status = make_scratch(server, error);
  if (status != HR_OK) return status;
  limit_files();
  status = allow(server, strdup(server->folder), error);
  if (status == HR_OK) status = find_shipped(server, error);
  set_rules(server);
  return status;
}

void hr__serve_paths_finish(struct hr__server *server) {
  for (size_t i = 0; i < server->rules.n_folders; i++) free(server->folders[i]);
  free(server->folders);
  for (size_t i = 0; server->shipped_states && i < server->n_shipped; i++)
    hr__shipped_finish(&server->shipped_states[i]);
  free(server->shipped_states);
  free(server->data_folder);
  hr_scenario_list_free(server->shipped, server->n_shipped);
  if (server->scratch) hr__remove_folder(server->scratch);
  free(server->scratch);
  free(server->folder);
}
