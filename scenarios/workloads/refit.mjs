// SPDX-License-Identifier: GPL-3.0-or-later
// Fits shipped workload models to the public traces again:
//   node scenarios/workloads/refit.mjs HEADROOM TRACES [NAME ...]
// Values that are assumed or quoted are copied from the previous model: its name and source, the outcomes of jobs, the
// users (helios and pai), and the requests for shares of a GPU (pai).
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const simulated = ["--map", "submit=arrival_s,duration=service_sec,gpus=gpu_count"];
const models = {
  helios: { file: "helios-venus/helios_trace.csv.gz", options: simulated, kept: ["users"], requests: false },
  philly: { file: "philly/philly.csv.gz", options: [], kept: [], requests: false },
  pai: { file: "alibaba-pai2020/alibaba_trace_sub.csv.gz", options: simulated, kept: ["users"], requests: true },
};

const here = dirname(fileURLToPath(import.meta.url));

// Rounds a number to four significant digits; a number of 1000 or more is rounded to a whole number.
const rounded = (number) => (Math.abs(number) >= 1000 ? Math.round(number) : Number(number.toPrecision(4)));

const isPlain = (value) => Object.values(value).every((item) => typeof item !== "object");

function text(value, indent) {
  if (typeof value === "number") return String(rounded(value));
  if (typeof value !== "object") return JSON.stringify(value);
  const list = Array.isArray(value);
  const [open, close] = list ? "[]" : "{}";
  const named = (key) => (list ? "" : `${JSON.stringify(key)}: `);
  const items = Object.entries(value).map(([key, item]) => named(key) + text(item, indent + "  "));
  if (isPlain(value)) return open + items.join(", ") + close;
  return `${open}\n${indent}  ${items.join(`,\n${indent}  `)}\n${indent}${close}`;
}

function fitted(headroom, traces, { file, options }) {
  const folder = mkdtempSync(join(tmpdir(), "refit-"));
  const path = join(folder, "model.json");
  const words = ["trace", "generate", "--like", join(traces, file), ...options, "--count", "1", "-o", "/dev/null"];
  execFileSync(headroom, [...words, "--model-out", path], { stdio: ["ignore", "ignore", "ignore"] });
  const model = JSON.parse(readFileSync(path, "utf8"));
  rmSync(folder, { recursive: true });
  return model;
}

// Returns the size of the previous model that corresponds to a size of the new model: it has a request for the number
// of GPUs of the most frequent request of the new size. If no such size exists, returns the last size.
const oldOf = (size, before) =>
  before.sizes.find((old) => old.requests.some((request) => request.gpus === size.requests[0].gpus)) ??
  before.sizes.at(-1);

function keep(model, before, { kept, requests }) {
  for (const key of ["name", "source", ...kept]) model[key] = before[key];
  for (const size of model.sizes) {
    const old = oldOf(size, before);
    if (requests && old.requests.some((request) => request.gpu_milli)) size.requests = old.requests;
    for (const key of ["completed", "failed", "cancelled"]) if (old[key]) size[key] = old[key];
  }
  return model;
}

const [headroom, traces, ...names] = process.argv.slice(2);
if (!traces) {
  console.error("usage: node scenarios/workloads/refit.mjs HEADROOM TRACES [helios|philly|pai ...]");
  process.exit(2);
}
for (const name of names.length ? names : Object.keys(models)) {
  const path = join(here, `${name}.json`);
  const before = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, text(keep(fitted(headroom, traces, models[name]), before, models[name]), "") + "\n");
}
