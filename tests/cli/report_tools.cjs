// SPDX-License-Identifier: GPL-3.0-or-later
// Functions with which report.sh reads pages: the document of a page, JSON and CSV files, tables of packed numbers.
const fs = require('node:fs');
const zlib = require('node:zlib');

const read = (name) => JSON.parse(fs.readFileSync(name, 'utf8'));

const element = (text, id) => text.match(new RegExp(`id="${id}">(.*?)</script>`, 's'))[1];

exports.read = read;
exports.same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
exports.document = (path) => JSON.parse(element(fs.readFileSync(path, 'utf8'), 'headroom-data'));

// Returns the rows of a CSV file as objects by column name. A comma in quotes is not a separator.
exports.lines = (path) => {
  const [head, ...rows] = fs.readFileSync(path, 'utf8').trim().split('\n').map((line) => line.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/));
  return rows.map((row) => Object.fromEntries(row.map((cell, i) => [head[i], cell])));
};

const READERS = { u8: [1, 'readUInt8'], u16: [2, 'readUInt16LE'], i32: [4, 'readInt32LE'], f64: [8, 'readDoubleLE'] };

// Returns a column of a table of a page as a list of numbers.
exports.column = (path, table, name) => {
  const bytes = zlib.inflateSync(Buffer.from(element(fs.readFileSync(path, 'utf8'), `block-${table}`), 'base64'));
  const { type, coding, offset, length, scale = 1 } = exports.document(path)[table].columns.find((c) => c.name === name);
  const [size, reader] = READERS[type];
  let sum = 0;
  return Array.from({ length }, (_, i) => {
    const value = bytes[reader](offset + i * size);
    sum = coding === 'delta' ? sum + value : value;
    return sum * scale;
  });
};
