#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests an installation in another folder. The program must find its data. Other programs must build with the library,
# through pkg-config (shared and static) and through CMake. The shared library must export only symbols with prefix hr_.
#
#   install.sh SOURCE BUILD
#
# SOURCE: root of the source tree. BUILD: build folder.
set -eu

source_dir=$1
build_dir=$2
area=$(mktemp -d)
trap 'rm -rf "$area"' EXIT
prefix=$area/prefix

fail() {
  echo "FAILED: $*"
  exit 1
}

cmake --install "$build_dir" --prefix "$prefix" >"$area/log" || fail "install: $(cat "$area/log")"
# Moves the installation, because no file may depend on the prefix.
mv "$prefix" "$area/moved"
prefix=$area/moved
libdir=$(dirname "$(find "$prefix" -name libheadroom.so)")

echo "program"
"$prefix/bin/headroom" --version | grep -q '[0-9]\.[0-9]' || fail "headroom --version"
"$prefix/bin/headroom" list scenarios | grep -q demo || fail "the installed scenarios are not found"
"$prefix/bin/headroom" run "$prefix/share/headroom/scenarios/demo.json" --quiet --json - | grep -q '"digest"' ||
  fail "the installed demo does not run"
(cd "$area" && "$prefix/bin/headroom" sweep "$prefix/share/headroom/scenarios/sweeps/demo.json" --quiet) ||
  fail "the installed grid does not run"

echo "documents"
for file in share/man/man1/headroom.1 share/bash-completion/completions/headroom share/zsh/site-functions/_headroom \
  share/fish/vendor_completions.d/headroom.fish share/doc/headroom/LICENSE share/doc/headroom/docs/start/first-run.md \
  share/headroom/scenarios/catalog/gpus.csv; do
  [ -s "$prefix/$file" ] || fail "$file is missing"
done

echo "symbols"
others=$(nm -D --defined-only "$libdir/libheadroom.so" | awk '$3 !~ /^hr_[^_]/ { print $3 }')
[ -z "$others" ] || fail "the shared library also exports: $others"
# Every declared function must be defined. Without this check, a missing function would be found only when a program
# calls it and fails to link.
declared=$(cat "$prefix"/include/headroom/*.h | tr '\n' ' ' | grep -o 'HR_API [^;{]*' |
  sed -E 's/\).*//; s/\(.*//; s/\[.*//; s/.*[ *]//' | grep '^hr_' | sort -u)
nm -D --defined-only "$libdir/libheadroom.so" | awk '{ print $3 }' | sort -u >"$area/defined"
missing=$(echo "$declared" | comm -23 - "$area/defined")
[ -z "$missing" ] || fail "declared but not defined: $missing"

consumer=$source_dir/tests/project/consumer
export PKG_CONFIG_PATH="$libdir/pkgconfig"
version=$(pkg-config --modversion headroom)

# expect_version PROGRAM: runs the program, which must print the version that pkg-config reports.
expect_version() {
  [ "$("$1")" = "headroom $version" ] || fail "$1 does not print 'headroom $version'"
}

echo "pkg-config, shared"
# shellcheck disable=SC2046 # split into words
gcc -std=c17 -Wall -Werror "$consumer/main.c" -o "$area/shared" $(pkg-config --cflags --libs headroom) \
  "-Wl,-rpath,$libdir"
expect_version "$area/shared"

echo "pkg-config, static" # the objects contain machine code and LTO code, and this program tests link-time optimization
# shellcheck disable=SC2046 # split into words
gcc -std=c17 -Wall -Werror -fno-lto "$consumer/main.c" -o "$area/static" $(pkg-config --cflags headroom) \
  "$libdir/libheadroom.a" $(pkg-config --static --libs-only-l headroom | sed 's/-lheadroom//')
expect_version "$area/static"

echo "find_package"
{ cmake -S "$consumer" -B "$area/consumer" "-DCMAKE_PREFIX_PATH=$prefix" &&
  cmake --build "$area/consumer"; } >"$area/log" 2>&1 || {
  cat "$area/log"
  fail "find_package"
}
expect_version "$area/consumer/consumer"
echo "install: passed"
