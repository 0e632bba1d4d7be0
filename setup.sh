#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# From a fresh Debian machine to a result, or to a tested build, in one command. Run it from anywhere.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
build=$root/build/release
jobs=$(nproc 2>/dev/null || echo 1)

usage() {
  cat <<'TEXT'
usage: ./setup.sh VERB

  demo              install what is missing, build, run the demo scenario
  test              install what is missing, build, run the tests
  build             install what is missing, build
  install [PREFIX]  build, then install program, library and headers (default: /usr/local)
  packages [SECTION...]
                    only install what is missing; sections: build test check package fuzz slurm
  help              this text

The build is in build/release; the program is build/release/headroom.
TEXT
}

say() {
  printf 'setup: %s\n' "$*"
}

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

# ---- Packages -------------------------------------------------------------------------------------------------

# npm often comes with a node of another origin, beside which Debian's npm cannot be installed.
is_installed() {
  [ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null)" = 'install ok installed' ] ||
    { [ "$1" = npm ] && command -v npm >/dev/null 2>&1; }
}

missing_packages() {
  for section in "$@"; do
    sed -n "s/^$section //p" "$root/.ci/packages"
  done | sort -u | while read -r package; do
    is_installed "$package" || echo "$package"
  done
}

# need_root WHY: says early, and on the terminal, what the rights are for.
need_root() {
  [ "$(id -u)" -eq 0 ] && return 0
  command -v sudo >/dev/null 2>&1 || fail "not root, and no sudo: cannot $1"
  say "not root: sudo is used to $1"
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@" </dev/null
}

# install_packages SECTION...: asks the package manager only when something is missing.
install_packages() {
  if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    say "this system has no apt; the build needs what these Debian packages hold:"
    for section in "$@"; do sed -n "s/^$section /  /p" "$root/.ci/packages"; done
    return 0
  fi
  missing=$(missing_packages "$@" | tr '\n' ' ')
  [ -n "$missing" ] || return 0
  say "installing: $missing"
  need_root "install packages"
  packages_log=$(mktemp)
  # shellcheck disable=SC2086 # a list of words
  logged "installing packages" "$packages_log" apt_install $missing
  rm -f "$packages_log"
}

apt_install() {
  apt update && apt install --no-install-recommends "$@"
}

# ---- Build ----------------------------------------------------------------------------------------------------

# How far a build is, by its log: "42 %". The last link optimises across all files, which takes a third of the time.
progress_of() {
  tail -n 20 "$1" 2>/dev/null | sed -n 's/^\[ *\([0-9]*\)%\] Linking C \(executable\|shared library\).*/\1 %, linking/p
    s/^\[ *\([0-9]*\)%\].*/\1 %/p' | tail -n 1
}

# heartbeat LABEL LOG: a line every 4 seconds until this script ends or kills it, so that users see that it still runs.
heartbeat() {
  elapsed=0
  while sleep 4 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    elapsed=$((elapsed + 4))
    say "$1: $(progress_of "$2") ($elapsed s)"
  done
}

# logged LABEL FILE COMMAND...: the command's output goes to FILE, and to the person if it fails; meanwhile its progress
# is printed.
logged() {
  label=$1 log=$2
  shift 2
  : >"$log"
  heartbeat "$label" "$log" &
  beat=$!
  code=0
  "$@" >"$log" 2>&1 </dev/null || code=$?
  kill "$beat" 2>/dev/null || :
  wait "$beat" 2>/dev/null || :
  [ "$code" -ne 0 ] || return 0
  tail -n 40 "$log" >&2
  fail "failed: $* (the whole output is in $log)"
}

# configure TESTS: configures once, and again only to turn the tests on.
configure() {
  cache=$build/CMakeCache.txt
  if [ -e "$build/Makefile" ] && { [ "$1" = OFF ] || grep -q '^HEADROOM_TESTS:BOOL=ON' "$cache"; }; then
    return 0
  fi
  mkdir -p "$build"
  say "configuring build/release"
  (cd "$root" && logged configuring "$build/configure.log" cmake --preset release -G 'Unix Makefiles' \
    "-DHEADROOM_TESTS=$1" ${CI:+-DHEADROOM_WERROR=ON})
}

# compile TARGET...
compile() {
  say "building"
  logged building "$build/build.log" cmake --build "$build" --parallel "$jobs" --target "$@"
}

build_program() {
  install_packages build
  configure OFF
  compile "$@"
}

# ---- Verbs ----------------------------------------------------------------------------------------------------

run_demo() {
  build_program headroom
  say "running: headroom run scenarios/demo.json"
  (cd "$root" && exec build/release/headroom run scenarios/demo.json)
}

run_tests() {
  install_packages build test
  configure ON
  compile all
  say "running the tests"
  # Two more than processors, as the test in the browser and those with MPI mostly wait.
  ctest --test-dir "$build" --output-on-failure --no-tests=error --label-exclude '^full$' --parallel $((jobs + 2)) \
    </dev/null
}

install_product() {
  prefix=${1:-/usr/local}
  case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
  build_program headroom headroom_static headroom_shared
  say "installing into $prefix"
  existing=$prefix
  while [ ! -e "$existing" ]; do existing=$(dirname -- "$existing"); done
  if [ -w "$existing" ]; then
    logged installing "$build/install.log" cmake --install "$build" --prefix "$prefix"
  else
    need_root "write to $prefix"
    logged installing "$build/install.log" as_root cmake --install "$build" --prefix "$prefix"
  fi
  say "installed: $prefix/bin/headroom"
}

verb=${1:-help}
[ $# -eq 0 ] || shift
case $verb in
  demo) run_demo ;;
  test) run_tests ;;
  build)
    build_program headroom headroom_static headroom_shared
    say "built: $build/headroom"
    ;;
  install) install_product "$@" ;;
  packages) install_packages "${@:-build}" ;;
  help | -h | --help) usage ;;
  *)
    printf "setup: unknown verb '%s'\n" "$verb" >&2
    usage >&2
    exit 2
    ;;
esac
