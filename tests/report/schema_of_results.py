# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the JSON of every shipped scenario that runs as shipped with the published schemas, using python3-jsonschema.

Arguments: the source folder and the program. Scenarios without a trace, or with data that is missing here, are skipped.
"""

import json
import pathlib
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: the package python3-jsonschema is missing")
    sys.exit(77)

ENOUGH = 20
source, program = pathlib.Path(sys.argv[1]), sys.argv[2]


def schema(name):
    text = (source / f"docs/reference/schemas/{name}.schema.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def result(*arguments):
    """Returns the JSON that the program prints, or None if it refuses the input."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout else None


scenario_schema, summary_schema = schema("scenario"), schema("summary")
n_runs, failures = 0, []
for path in sorted((source / "scenarios").glob("*.json")):
    draft = json.loads(path.read_text(encoding="utf-8"))
    failures += [f"{path.name}: {error.json_path}: {error.message}" for error in scenario_schema.iter_errors(draft)]
    if "plan" in draft:
        continue
    summary = result("run", str(path), "--json", "-", "--quiet")
    if summary is None:
        continue
    n_runs += 1
    failures += [f"{path.name}: {error.json_path}: {error.message[:200]}" for error in summary_schema.iter_errors(summary)]
print("\n".join(failures))
print(f"{n_runs} runs")
sys.exit(bool(failures) or n_runs < ENOUGH)
