#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Verifies the two workflows (GitHub, GitLab) of docs/ci/workflows.md. They must be valid YAML, and their commands must
# have the effects that the page describes. Commands that need a network are replaced by stubs.
#
#   ci.sh SOURCE BUILD
#
# SOURCE: root of the source tree. BUILD: folder with the program.
set -euo pipefail

source_dir=$1
PATH=$2:$PATH
area=$(mktemp -d)
trap 'rm -rf "$area"' EXIT
cd "$area"

fail() {
  echo "FAILED: $*"
  for file in out errors; do [ ! -s "$file" ] || head -c 2000 "$file"; done
  exit 1
}

awk '/^```yaml$/ { inside = 1; file = sprintf("%d.yml", ++count); next } /^```/ { inside = 0 } inside { print > file }' \
  "$source_dir/docs/ci/workflows.md"
if ! [ -s 1.yml ] || ! [ -s 2.yml ]; then fail "the page does not have two workflows"; fi
for file in 1.yml 2.yml; do
  if python3 -c 'import yaml' 2>errors; then
    python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' $file 2>errors || fail "$file is not valid YAML"
  else
    echo "*** SKIPPED: python3-yaml, which is needed to read $file, is missing ***"
  fi
done

# block FILE HEAD: prints the first "|" block after the first line that contains HEAD, without its indentation.
block() {
  awk -v head="$2" '
    index($0, head) { found = 1 }
    found && !inside && /\|$/ { inside = 1; next }
    inside { match($0, /^ */); if (!indent) indent = RLENGTH; if (RLENGTH < indent) exit; print substr($0, indent + 1) }' "$1"
}

# line FILE HEAD: prints the list item that begins with HEAD.
line() {
  sed -n "s/^ *- \($2.*\)/\1/p" "$1"
}

block 1.yml 'name: Install' >install
block 1.yml 'name: Check' >check
block 1.yml 'name: Summary' >summary
block 1.yml 'name: Comment' >comment
line 2.yml 'headroom check' >check2
block 2.yml 'after_script' >comment2
for file in install check summary comment check2 comment2; do [ -s $file ] || fail "no commands: $file"; done

# ---- Stubs ---------------------------------------------------------------------------------------------------------

mkdir -p bin headroom-source ci
cat >bin/gh <<'SH'
#!/bin/sh
echo "gh $*" >>posted
case $* in *--edit-last*) exit 1 ;; esac
SH
cat >bin/curl <<'SH'
#!/bin/sh
echo "curl $*" >>posted
SH
cat >headroom-source/setup.sh <<'SH'
#!/bin/sh
[ "$1" = install ] && mkdir -p "$2/bin"
SH
chmod +x bin/* headroom-source/setup.sh
PATH=$area/bin:$PATH
sed -n '/^  demo \|^  install /p' "$source_dir/setup.sh" | grep -q '^  install \[PREFIX\]' || fail "'setup.sh install' does not accept PREFIX"
cp "$source_dir/traces/reference/gang-heavy.json" ci/
head -n 200 "$source_dir/traces/reference/gang-heavy.csv" >ci/gang-heavy.csv
echo '{ "runs": [{ "name": "gangs", "scenario": "gang-heavy.json" }] }' >ci/suite.json
# The page has one command that writes the first baseline.
sed -n 's/^    \(headroom check .*--update\)$/\1/p' "$source_dir/docs/ci/workflows.md" >update
sh -eu update >out 2>errors || fail "the baseline is not written"

# ---- The commands --------------------------------------------------------------------------------------------------

export RUNNER_TEMP=$area/temp GITHUB_PATH=$area/path GITHUB_STEP_SUMMARY=$area/step PULL_REQUEST=7 GITHUB_ACTIONS=true
export CI_MERGE_REQUEST_IID=3 HEADROOM_TOKEN=t CI_API_V4_URL=https://x/api/v4 CI_PROJECT_ID=5
sh -eu install >out 2>errors || fail "install"
[ "$(cat path)" = "$area/temp/headroom/bin" ] || fail "the program's folder is not added to PATH"

# expect CODE: runs both checks, which must exit with CODE and write their files. Then runs the other commands, which
# must write the summary and post three times.
expect() {
  for script in check check2; do
    code=0
    rm -f check.md check.xml
    sh -eu $script >out 2>errors || code=$?
    [ $code -eq "$1" ] || fail "$script: exit code $code, not $1"
    if ! [ -s check.xml ] || ! [ -s check.md ]; then fail "$script: no files"; fi
  done
  : >posted
  : >step
  for script in summary comment comment2; do sh -eu $script >out 2>errors || fail $script; done
  cmp -s step check.md || fail "the step summary differs from check.md"
  [ "$(grep -c . posted)" -eq 3 ] || fail "not posted: $(cat posted)"
}

expect 0
sed -i 's/"usd_per_gpu_hour": 1.6/"usd_per_gpu_hour": 1.7/' ci/gang-heavy.json
expect 1
sh -eu check >out 2>errors || grep -q '^::error file=ci/gang-heavy.json' out || fail "no annotation"
grep -q 'merge_requests/3/notes' posted || fail "posted to a different address"

# Without a result, nothing is posted.
rm check.md
: >posted
for script in summary comment comment2; do sh -eu $script >out 2>errors || fail "$script without a result"; done
[ ! -s posted ] || fail "posted without a result: $(cat posted)"
echo "docs/ci/workflows.md: two workflows, their commands run"
