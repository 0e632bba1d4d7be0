#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests .ci/check_tags, which must report different definitions of one C tag and must accept equal definitions.
#
#   tags_caught.sh SOURCE
#
# SOURCE: root of the source tree.
set -eu

check=$1/.ci/check_tags
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/sim" "$tree/plan" "$tree/tests"

fail() {
  echo "FAILED: $*"
  cat "$tree/log"
  exit 1
}

cat >"$tree/sim/a.h" <<'C'
/* struct pool { int in_a_comment; }; */
struct pool { int nodes; char mark; }; // struct pool { }
enum kind { ONE, TWO };
static const char *const text = "struct pool { int in_a_string; };", quote = '"';
struct outer { struct inner { int x; } one; };
C
cat >"$tree/plan/b.c" <<'C'
struct pool   { int nodes; /* the same */
  char mark; };
struct pool *of(struct pool *pool) { return pool; }
C
echo 'struct pool { long elsewhere; };' >"$tree/tests/c.c"
"$check" "$tree" >"$tree/log" || fail "equal definitions are not accepted"

for definition in 'struct pool { int nodes; };' 'struct kind { int x; };' 'enum kind { ONE };' 'struct inner { long x; };'; do
  echo "$definition" >"$tree/plan/c.h"
  if "$check" "$tree" >"$tree/log" || ! grep -q 'plan/c.h' "$tree/log"; then fail "not found: $definition"; fi
done
echo "tags: passed"
