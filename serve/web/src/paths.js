// SPDX-License-Identifier: GPL-3.0-or-later
// Files that a scenario names are relative to its folder. A scenario that ships, or is in the folder of the server, is
// saved elsewhere, so its file names them by absolute paths.

import { state } from './state.js';

// The folder of the scenario on the machine of the server; null if it is not known, as that of a file of the browser.
const folderOf = ({ shipped, file }) => {
  if (shipped) return state.folders.shipped ?? null;
  if (!file || !state.folders.files) return null;
  return [state.folders.files, ...file.split('/').slice(0, -1)].join('/');
};

const joined = (folder, path) => {
  const parts = folder.split('/');
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
};

const namesFile = (key) => key === 'file' || key === 'trace' || key.endsWith('_file');
const isRelative = (value) => typeof value === 'string' && value !== '' && !value.startsWith('/') && value !== '-';

const replaced = (value, folder) => {
  if (Array.isArray(value)) return value.map((item) => replaced(item, folder));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, namesFile(key) && isRelative(item) ? joined(folder, item) : replaced(item, folder)]));
};

// The scenario as it is saved: it has the same runs wherever the file is, on the machine of the server.
export const savedScenario = () => {
  const folder = folderOf(state.place);
  return folder === null ? state.scenario : replaced(state.scenario, folder);
};
