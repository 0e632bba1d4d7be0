#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Verifies the GitHub action and the GitLab template of packaging/ci/. They must be valid YAML, and their commands must
# download and install the package and run the check. Commands that need a network or rights are replaced by stubs.
#
#   ci_package.sh SOURCE BUILD
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

python=
for candidate in /usr/bin/python3 python3; do
  [ -n "$python" ] || ! "$candidate" -c 'import yaml' 2>errors || python=$candidate
done
[ -n "$python" ] || { echo 'skipped: python3-yaml is missing' && exit 77; }

"$python" - "$source_dir/packaging/ci" <<'PYTHON' 2>errors || fail "the form of the action or the template is unexpected"
import sys, yaml
action = yaml.safe_load(open(sys.argv[1] + "/action.yml"))
for step in action["runs"]["steps"]:
    open(step["name"].lower(), "w").write(step["run"])
assert {"suite", "baseline", "options", "package"} == set(action["inputs"])
job = yaml.safe_load(open(sys.argv[1] + "/gitlab.yml"))[".headroom-check"]
open("before", "w").write("\n".join(job["before_script"]))
open("script", "w").write("\n".join(job["script"]))
open("variables", "w").write("".join("%s='%s'\n" % pair for pair in job["variables"].items()))
PYTHON
version=$(sed -n 's/^project(headroom VERSION \([0-9.]*\).*/\1/p' "$source_dir/CMakeLists.txt")
grep -qx "HEADROOM_VERSION='$version'" variables || fail "the template does not name version $version"
! grep -o 'headroom/packaging/ci@v[0-9.]*\|ref: v[0-9.]*' "$source_dir/docs/ci/package.md" "$source_dir"/packaging/ci/*.yml |
  grep -v "v$version\$" || fail "a page or file does not name version $version"
grep -q "headroom_${version}_amd64.deb" "$source_dir/docs/ci/package.md" || fail "the page names a different version"

# ---- Stubs -----------------------------------------------------------------------------------------------------------

mkdir bin ci temp
cat >bin/apt-get <<'SH'
#!/bin/sh
echo "apt-get $*" >>called
SH
cat >bin/curl <<'SH'
#!/bin/sh
echo "curl $*" >>called
while [ $# -gt 1 ]; do [ "$1" != --output ] || : >"$2"; shift; done
SH
printf '#!/bin/sh\nexec "$@"\n' >bin/sudo
chmod +x bin/*
PATH=$area/bin:$PATH
cp "$source_dir/traces/reference/gang-heavy.json" ci/
head -n 200 "$source_dir/traces/reference/gang-heavy.csv" >ci/gang-heavy.csv
echo '{ "runs": [{ "name": "gangs", "scenario": "gang-heavy.json" }] }' >ci/suite.json
headroom check ci/suite.json --baseline ci/suite.base.json --update >out 2>errors || fail "the baseline is not written"

# ---- The commands ------------------------------------------------------------------------------------------------------

export RUNNER_TEMP=$area/temp GITHUB_OUTPUT=$area/output GITHUB_STEP_SUMMARY=$area/step
export GITHUB_SERVER_URL=https://example.com REPOSITORY=me/headroom REF=v$version
PACKAGE='' sh -eu install >out 2>errors || fail "the action does not install"
grep -q "https://example.com/me/headroom/releases/download/v$version/headroom_${version}_amd64.deb" called ||
  fail "the action downloads a different file: $(cat called)"
grep -q "install.*$area/temp/headroom_${version}_amd64.deb" called || fail "the action installs a different file"
: >called
: >own.deb
PACKAGE=own.deb sh -eu install >out 2>errors || fail "the action does not install a given package"
if grep -q curl called || ! grep -q "install.*$area/own.deb" called; then fail "a given package: $(cat called)"; fi

export CI_API_V4_URL=https://x/api/v4 CI_JOB_TOKEN=secret
: >called
set -a
# shellcheck source=/dev/null
. ./variables
set +a
sh -eu before >out 2>errors || fail "the template does not install"
grep -q "https://x/api/v4/projects/OWNER%2Fheadroom/packages/generic/headroom/$version/headroom_${version}_amd64.deb" called ||
  fail "the template downloads a different file: $(cat called)"

grep -q 'JOB-TOKEN: secret' called || fail "the template does not name its job: $(cat called)"
: >called
HEADROOM_PACKAGE=https://elsewhere.example/headroom.deb sh -eu before >out 2>errors || fail "the template does not install from a URL"
grep -q 'https://elsewhere.example/headroom.deb' called || fail "the template downloads a different file: $(cat called)"
! grep 'JOB-TOKEN' called || fail "the template sends the token of the job to another host"

# expect CODE: both checks must exit with CODE and write their files.
expect() {
  local code=0
  rm -f temp/*.md temp/*.xml headroom-check.* step
  SUITE=ci/suite.json BASELINE='' OPTIONS='--tolerance exact' sh -eu check >out 2>errors || code=$?
  [ $code -eq "$1" ] || fail "the action exits with $code, not $1"
  if ! [ -s temp/headroom-check.xml ] || ! cmp -s step temp/headroom-check.md; then fail "the action has no results"; fi
  code=0
  sh -eu script >out 2>errors || code=$?
  [ $code -eq "$1" ] || fail "the template exits with $code, not $1"
  if ! [ -s headroom-check.xml ] || ! [ -s headroom-check.md ]; then fail "the template has no results"; fi
}

expect 0
sed -i 's/"usd_per_gpu_hour": 1.6/"usd_per_gpu_hour": 1.7/' ci/gang-heavy.json
expect 1
echo "packaging/ci: an action and a template, their commands run"
