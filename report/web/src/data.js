// SPDX-License-Identifier: GPL-3.0-or-later
// The document and its binary blocks, which the program has written into the page. A block is decoded when it is first
// used, and the decoded block is cached.

export const readDocument = () => JSON.parse(document.getElementById('headroom-data').textContent);

const ARRAYS = {
  i32: Int32Array,
  u32: Uint32Array,
  u16: Uint16Array,
  u8: Uint8Array,
  f32: Float32Array,
  f64: Float64Array,
};

const decoded = new Map();

const inflate = async (name) => {
  const text = document.getElementById(`block-${name}`).textContent.trim();
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).arrayBuffer();
};

export const hasBlock = (name) => document.getElementById(`block-${name}`) !== null;

export const block = (name) => {
  if (!decoded.has(name)) decoded.set(name, inflate(name));
  return decoded.get(name);
};

// Decodes a column. Sums of differences and scaled values are doubles, because they may exceed the range of the stored
// type.
const column = (buffer, { type, coding, offset, length, scale = 1 }) => {
  const packed = new ARRAYS[type](buffer, offset, length);
  if (coding !== 'delta' && scale === 1) return packed;
  const values = new Float64Array(length);
  let sum = 0;
  for (let i = 0; i < length; i++) {
    sum = coding === 'delta' ? sum + packed[i] : packed[i];
    values[i] = sum * scale;
  }
  return values;
};

const tables = new Map();

const readTable = async (described) => {
  const buffer = await block(described.block);
  return Object.fromEntries(described.columns.map((c) => [c.name, column(buffer, c)]));
};

// Returns the columns of a table: { name: typed array }.
export const tableOf = (described) => {
  if (!tables.has(described.block)) tables.set(described.block, readTable(described));
  return tables.get(described.block);
};

// Returns the list of job ids, one per row; null if the ids are a column of numbers.
export const jobIds = async () =>
  hasBlock('job_ids') ? new TextDecoder().decode(await block('job_ids')).split('\n') : null;
