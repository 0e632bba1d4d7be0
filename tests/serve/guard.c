/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Security checks of requests: Host, Origin, tokens, and names of files. */

#include "harness.h"
#include "serve/serve.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void hosts(void) {
  static const char *const good[] = {"127.0.0.1:8080", "localhost:8080", "LocalHost:8080"};
  static const char *const bad[] = {"evil.example:8080",
                                    "127.0.0.1",
                                    "127.0.0.1:8081",
                                    "localhost:80800",
                                    "127.0.0.1.evil.x:8080",
                                    "",
                                    ":8080",
                                    "10.0.0.1:8080",
                                    "localhost:8080x",
                                    "localhost:8080 ",
                                    "[::1]:8080",
                                    "localhost:"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) CU_ASSERT(hr__guard_host(good[i], "127.0.0.1", 8080));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CU_ASSERT(!hr__guard_host(bad[i], "127.0.0.1", 8080));
  CU_ASSERT(!hr__guard_host(NULL, "127.0.0.1", 8080));
  CU_ASSERT(hr__guard_host("localhost", "127.0.0.1", 80));
  CU_ASSERT(hr__guard_host("10.0.0.1:8080", "10.0.0.1", 8080));
  CU_ASSERT(hr__guard_host("10.0.0.1:8080", "0.0.0.0", 8080));
  CU_ASSERT(!hr__guard_host("evil.example:8080", "0.0.0.0", 8080));
}

static void origins(void) {
  CU_ASSERT(hr__guard_origin(NULL, "localhost:8080"));
  CU_ASSERT(hr__guard_origin("http://localhost:8080", "localhost:8080"));
  CU_ASSERT(!hr__guard_origin("http://localhost:80", "localhost:8080"));
  CU_ASSERT(!hr__guard_origin("https://localhost:8080", "localhost:8080"));
  CU_ASSERT(!hr__guard_origin("http://evil.example", "localhost:8080"));
  CU_ASSERT(!hr__guard_origin("null", "localhost:8080"));
  CU_ASSERT(!hr__guard_origin("", "localhost:8080"));
}

static void tokens(void) {
  char first[HR__MAX_TOKEN + 1], second[HR__MAX_TOKEN + 1];
  CU_ASSERT(hr__token_make(first, NULL) == HR_OK && hr__token_make(second, NULL) == HR_OK);
  CU_ASSERT(strlen(first) == 2 * (size_t)HR__TOKEN_BYTES && strcmp(first, second) != 0);
  CU_ASSERT(hr__guard_token(first, first));
  CU_ASSERT(!hr__guard_token(second, first));
  CU_ASSERT(!hr__guard_token(NULL, first));
  CU_ASSERT(!hr__guard_token("", first));
  first[3] = (char)(first[3] == 'a' ? 'b' : 'a');
  CU_ASSERT(!hr__guard_token(second, first));
}

static enum hr_status read_token(const char *text, mode_t mode) {
  char path[] = "token-XXXXXX", token[HR__MAX_TOKEN + 1];
  struct hr_error error = {0};
  int descriptor = mkstemp(path);
  CU_ASSERT_FATAL(descriptor >= 0);
  CU_ASSERT(write(descriptor, text, strlen(text)) == (ssize_t)strlen(text));
  CU_ASSERT(fchmod(descriptor, mode) == 0);
  enum hr_status status = hr__token_read(path, token, &error);
  if (status == HR_OK) CU_ASSERT(strncmp(token, text, strlen(token)) == 0);
  CU_ASSERT((status == HR_OK) == (error.text[0] == '\0'));
  close(descriptor);
  unlink(path);
  return status;
}

static void token_files(void) {
  struct hr_error error = {0};
  char token[HR__MAX_TOKEN + 1];
  CU_ASSERT(read_token("0123456789abcdef\n", 0600) == HR_OK);
  CU_ASSERT(read_token("0123456789abcdef", 0400) == HR_OK);
  CU_ASSERT(read_token("0123456789abcdef\n", 0640) == HR_BAD_INPUT);
  CU_ASSERT(read_token("0123456789abcde\n", 0600) == HR_BAD_INPUT);
  CU_ASSERT(read_token("0123456789abcde \n", 0600) == HR_BAD_INPUT);
  CU_ASSERT(read_token("", 0600) == HR_BAD_INPUT);
  CU_ASSERT(hr__token_read("no/such/file", token, &error) == HR_BAD_INPUT);
}

static bool has_file(const char *folder, const char *name) {
  char *real = NULL;
  bool has = hr__guard_file(folder, name, &real);
  CU_ASSERT(has == (real != NULL));
  free(real);
  return has;
}

static void touch(const char *path) {
  FILE *file = fopen(path, "w");
  CU_ASSERT_FATAL(file != NULL);
  fclose(file);
}

static void files(void) {
  char folder[] = "folder-XXXXXX", cwd[2048], root[4096];
  CU_ASSERT_FATAL(mkdtemp(folder) && getcwd(cwd, sizeof cwd));
  snprintf(root, sizeof root, "%s/%s/in", cwd, folder);
  CU_ASSERT_FATAL(chdir(folder) == 0 && mkdir("in", 0700) == 0 && mkdir("in/sub", 0700) == 0);
  CU_ASSERT_FATAL(mkdir("inside", 0700) == 0);
  touch("in/a.json"), touch("in/sub/b.json"), touch("out.json"), touch("inside/c.json");
  CU_ASSERT(symlink("../out.json", "in/link.json") == 0 && symlink("a.json", "in/near.json") == 0);
  CU_ASSERT(symlink("..", "in/up") == 0);
  CU_ASSERT_FATAL(mkdir("in/.git", 0700) == 0);
  touch("in/.env"), touch("in/.git/config");
  CU_ASSERT(symlink(".env", "in/shown") == 0);
  CU_ASSERT(has_file(root, "a.json"));
  CU_ASSERT(has_file(root, "sub/b.json"));
  CU_ASSERT(has_file(root, "sub/../a.json"));
  CU_ASSERT(has_file(root, "near.json"));
  CU_ASSERT(has_file(root, "./a.json"));
  CU_ASSERT(!has_file(root, ".env"));
  CU_ASSERT(!has_file(root, "sub/../.env"));
  CU_ASSERT(!has_file(root, ".git/config"));
  CU_ASSERT(!has_file(root, "shown"));
  CU_ASSERT(!has_file(root, "link.json"));
  CU_ASSERT(!has_file(root, "up/out.json"));
  CU_ASSERT(!has_file(root, "../out.json"));
  CU_ASSERT(!has_file(root, "../inside/c.json"));
  CU_ASSERT(!has_file(root, "/etc/passwd"));
  CU_ASSERT(!has_file(root, "sub"));
  CU_ASSERT(!has_file(root, "."));
  CU_ASSERT(!has_file(root, ""));
  CU_ASSERT(!has_file(root, "missing.json"));
  static const char *const all[] = {"in/link.json", "in/near.json",  "in/up",   "in/a.json",      "in/sub/b.json",
                                    "out.json",     "inside/c.json", "in/.env", "in/.git/config", "in/shown"};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) unlink(all[i]);
  rmdir("in/sub"), rmdir("in/.git"), rmdir("in"), rmdir("inside");
  CU_ASSERT(chdir(cwd) == 0 && rmdir(folder) == 0);
}

static void expect_plain(const char *name, const char *expected) {
  char *plain = hr__plain_name(name);
  CU_ASSERT_STRING_EQUAL(plain, expected);
  free(plain);
}

static void names(void) {
  expect_plain("jobs.csv", "jobs.csv");
  expect_plain("../../etc/passwd", "passwd");
  expect_plain("C:\\traces\\jobs.csv", "jobs.csv");
  expect_plain("--json=x", "json=x");
  expect_plain(".hidden", "hidden");
  expect_plain("a b\n\x01", "a_b");
  expect_plain("", "trace");
  expect_plain("/", "trace");
  expect_plain("-", "trace");
}

TEST_MAIN("serve: checks of requests", TEST(hosts), TEST(origins), TEST(tokens), TEST(token_files), TEST(files),
          TEST(names))
