#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests policies and routers in shared objects. The example of docs/researcher/policies.md is copied from the page,
# built with the installed library, and run. The digest must be the same if a scenario names the shared object, if the
# policy is compiled into another program, and in a comparison. Faulty files must be rejected with a message.
#
#   plugin.sh SOURCE BUILD
#
# SOURCE: root of the source tree. BUILD: build folder.
set -eu

source_dir=$1
build_dir=$2
area=$(mktemp -d)
trap 'rm -rf "$area"' EXIT
cd "$area"

fail() {
  echo "FAILED: $*"
  [ ! -s out ] || cat out
  exit 1
}

cmake --install "$build_dir" --prefix "$area/prefix" >log || fail "install: $(cat log)"
libdir=$(dirname "$(find prefix -name libheadroom.so)")
PKG_CONFIG_PATH=$area/$libdir/pkgconfig
export PKG_CONFIG_PATH
headroom=$area/prefix/bin/headroom
demo=$area/prefix/share/headroom/scenarios/demo.json
abi=$(sed -n "s/^#define HR_POLICY_ABI \([0-9]*\)u.*/\1/p" prefix/include/headroom/policy.h)

# compile NAME: compiles NAME.c to NAME.so.
compile() {
  # shellcheck disable=SC2046 # split into words
  gcc -std=c17 -Wall -Wextra -Werror -O2 -fPIC -shared $(pkg-config --cflags headroom) "$1.c" -o "$1.so" || fail "$1.c"
}

# expect_error CODE TEXT ARGUMENT...: runs the demo, which must exit with CODE and print TEXT.
expect_error() {
  expected=$1 text=$2 code=0
  shift 2
  "$headroom" run "$demo" --quiet "$@" >out 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || fail "exit code $code, not $expected: $*"
  grep -qF -- "$text" out || fail "the output does not contain: $text"
}

echo "from the page"
awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$source_dir/docs/researcher/policies.md" >patience.c
cmp patience.c "$source_dir/docs/researcher/examples/patience.c" || fail "the example on the page differs from docs/researcher/examples"
[ "$(wc -l <patience.c)" -lt 60 ] || fail "the example is no longer short"
compile patience
"$headroom" run "$demo" --policy ./patience.so:patience_s=7200 --check --quiet --json summary.json || fail "the run"
grep -q '"name": "patience"' summary.json || fail "the summary does not name the policy"
digest=$(sed -n 's/^  "digest": "\(.*\)".*/\1/p' summary.json)

echo "named by a scenario"
sed 's/"policy": {.*}/"policy": { "name": ".\/patience.so", "patience_s": 7200 }/; s/"\.\.\/traces/"prefix\/share\/headroom\/traces/' \
  "$demo" >own.json
"$headroom" run own.json --quiet --json own_summary.json || fail "a scenario that names a policy's file"
grep -q "\"digest\": \"$digest\"" own_summary.json || fail "the digest differs if the scenario names the policy"

echo "built in"
# shellcheck disable=SC2046 # split into words
gcc -std=c17 -Wall -Wextra -Werror -O2 -DHR_POLICY_BUILT_IN patience.c "$source_dir/tests/project/consumer/built_in.c" \
  -o built_in $(pkg-config --cflags --libs headroom) "-Wl,-rpath,$area/$libdir" || fail "built in"
[ "$(./built_in "$demo")" = "$digest" ] || fail "the built-in policy has digest $(./built_in "$demo"), not $digest"

echo "faulty files"
expect_error 2 "policy 'patience' has no parameter 'patiens_s'; did you mean 'patience_s'?" --policy ./patience.so:patiens_s=1
expect_error 2 "parameter 'patience_s': '-1' is not a number from 0 to 1e+09" --policy ./patience.so:patience_s=-1
expect_error 2 'cannot open shared object file' --policy ./nowhere.so
echo 'int nothing;' >none.c
compile none
expect_error 2 "no symbol 'headroom_policy'" --policy ./none.so
sed 's/HR_POLICY_HEAD/.abi = HR_POLICY_ABI + 1, .size = sizeof(struct hr_policy_ops)/' patience.c >abi.c
compile abi
expect_error 2 "built for policy interface $((abi + 1)), expected $abi" --policy ./abi.so
sed 's/HR_POLICY_HEAD/.abi = HR_POLICY_ABI, .size = 4096/' patience.c >later.c
compile later
expect_error 2 'from a newer Headroom' --policy ./later.so
sed 's/\.decide = decide/.decide = NULL/' patience.c >idle.c
gcc -std=c17 -O2 -fPIC -shared "-I$area/prefix/include" idle.c -o idle.so # without -Werror, because a function is unused
expect_error 2 "missing 'decide'" --policy ./idle.so
# A policy built for an interface version without `abilities`.
sed 's/HR_POLICY_HEAD/.abi = HR_POLICY_ABI, .size = offsetof(struct hr_policy_ops, abilities)/' patience.c >early.c
compile early
"$headroom" run "$demo" --policy ./early.so:patience_s=7200 --quiet --json early.json || fail "a policy with fewer functions"
grep -q "\"digest\": \"$digest\"" early.json || fail "the digest of a policy with fewer functions differs"
# A policy that starts the same job twice.
sed 's/    p->waiting\[first\] = .*/    status = hr_moves_start(moves, job, \&placement, HR_REASON_IN_ORDER);/' patience.c >twice.c
compile twice
expect_error 3 "policy 'patience' at 0.000000 s, start of job 1: the job is not waiting" --policy ./twice.so

echo "compared"
"$headroom" compare "$demo" --policies ./patience.so:patience_s=7200,fifo,./patience.so --threads 2 --quiet --json compared.json ||
  fail "the comparison"
grep -q "\"digest\": \"$digest\"" compared.json || fail "the digest differs in a comparison"
grep -q '"name": "./patience.so"' compared.json || fail "the comparison reports a different name"
code=0
"$headroom" compare "$demo" --policies fifo,./twice.so,sjf --json compared_not.json >out 2>&1 || code=$?
[ "$code" -eq 3 ] || fail "exit code $code, not 3"
grep -qF "policy ./twice.so: policy 'patience' at 0.000000 s" out || fail "the message does not name the policy: $(cat out)"
[ ! -e compared_not.json ] || fail "a failed comparison wrote a file"
echo "a router"
far=prefix/share/headroom/scenarios/data-far.json
awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$source_dir/docs/researcher/routers.md" >data_first.c
cmp data_first.c "$source_dir/docs/researcher/examples/data_first.c" || fail "the router on the page differs from docs/researcher/examples"
compile data_first
router() { # FILE SETTINGS: the setting of a router
  printf 'router={"name":"plugin","file":"%s","settings":{%s}}' "$1" "$2"
}
expect_router_error() { # CODE TEXT SETTING
  code=0
  "$headroom" run $far --quiet --set "$3" >out 2>&1 || code=$?
  [ "$code" -eq "$1" ] || fail "exit code $code, not $1: $3"
  grep -qF -- "$2" out || fail "the output does not contain: $2"
}
# Without a maximum wait near the data, it equals the router `cheapest` with data_local_wait_s=0.
"$headroom" run $far --check --quiet --set "$(router "$area/data_first.so" '"patience_s":0')" --json near.json || fail "the router"
"$headroom" run $far --quiet --set router.data_local_wait_s=0 --json built_in.json || fail "the built-in router"
[ "$(grep digest near.json)" = "$(grep digest built_in.json)" ] || fail "the router differs from the built-in one"
expect_router_error 2 "router 'data-first' has no parameter 'patiens_s'; did you mean 'patience_s'?" \
  "$(router "$area/data_first.so" '"patiens_s":0')"
expect_router_error 2 "no symbol 'headroom_router'" "$(router "$area/patience.so" '')"
expect_router_error 2 "parameter 'patience_s': '-1' is not a number from 0 to 1e+09" "$(router "$area/data_first.so" '"patience_s":-1')"
sed 's/HR_ROUTER_HEAD/.abi = HR_ROUTER_ABI + 1, .size = sizeof(struct hr_router_ops)/' data_first.c >other_abi.c
compile other_abi
expect_router_error 2 'built for router interface 2, expected 1' "$(router "$area/other_abi.so" '')"
sed 's/return near != .*/return n_clusters;/' data_first.c >beyond.c
compile beyond
expect_router_error 3 "router 'data-first' at 0.000000 s sent job 0 to cluster 2, which does not exist" "$(router "$area/beyond.so" '')"
sed 's/return near != .*/return clusters[-1 - (int)job->now_us \/ 0].n_waiting;/' data_first.c >faulty.c
gcc -std=c17 -w -O0 -fPIC -shared "-I$area/prefix/include" faulty.c -o faulty.so
expect_router_error 136 "headroom: plug-in 'data-first' crashed in its function 'choose'" "$(router "$area/faulty.so" '')"
echo "plugin: passed"
