#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What is installed works where it was put: the program finds its data; programs of others build against the library
# through pkg-config (shared and static) and through CMake; the shared library shows nothing but hr_ symbols.
#
#   install.sh SOURCE BUILD
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
# Moved once: nothing may depend on where it was installed first.
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
for file in share/man/man1/headroom.1 share/bash-completion/completions/headroom share/doc/headroom/LICENSE; do
  [ -s "$prefix/$file" ] || fail "$file is missing"
done

echo "symbols"
others=$(nm -D --defined-only "$libdir/libheadroom.so" | awk '$3 !~ /^hr_[^_]/ { print $3 }')
[ -z "$others" ] || fail "the shared library also shows: $others"
# Declarations without a definition would only be found by the first user of a function.
declared=$(cat "$prefix"/include/headroom/*.h | tr '\n' ' ' | grep -o 'HR_API [^;{]*' |
  sed -E 's/\).*//; s/\(.*//; s/\[.*//; s/.*[ *]//' | grep '^hr_' | sort -u)
nm -D --defined-only "$libdir/libheadroom.so" | awk '{ print $3 }' | sort -u >"$area/defined"
missing=$(echo "$declared" | comm -23 - "$area/defined")
[ -z "$missing" ] || fail "declared but not defined: $missing"

consumer=$source_dir/tests/project/consumer
export PKG_CONFIG_PATH="$libdir/pkgconfig"
version=$(pkg-config --modversion headroom)

# runs PROGRAM: it prints the version that pkg-config tells.
runs() {
  [ "$("$1")" = "headroom $version" ] || fail "$1 does not print 'headroom $version'"
}

echo "pkg-config, shared"
# shellcheck disable=SC2046 # words
gcc -std=c17 -Wall -Werror "$consumer/main.c" -o "$area/shared" $(pkg-config --cflags --libs headroom) \
  "-Wl,-rpath,$libdir"
runs "$area/shared"

echo "pkg-config, static"
# shellcheck disable=SC2046 # words
gcc -std=c17 -Wall -Werror "$consumer/main.c" -o "$area/static" $(pkg-config --cflags headroom) \
  "$libdir/libheadroom.a" $(pkg-config --static --libs-only-l headroom | sed 's/-lheadroom//')
runs "$area/static"

echo "find_package"
{ cmake -S "$consumer" -B "$area/consumer" "-DCMAKE_PREFIX_PATH=$prefix" &&
  cmake --build "$area/consumer"; } >"$area/log" 2>&1 || {
  cat "$area/log"
  fail "find_package"
}
runs "$area/consumer/consumer"
echo "installed and used"
