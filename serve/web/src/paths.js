// SPDX-License-Identifier: GPL-3.0-or-later
// The paths of files in a scenario are relative to the folder of the scenario. If a shipped scenario, or one from the
// folder of the server, is saved, the saved file is in another folder. Its paths are therefore absolute.

import { state } from './state.js';

// Returns the folder of the scenario on the machine of the server. Returns null if the folder is unknown, which is the
// case for files that the user opened in the browser.
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

// Returns the scenario as it is saved, with absolute paths. On the machine of the server, its runs do not depend on the
// folder of the saved file.
export const savedScenario = () => {
  const folder = folderOf(state.place);
  return folder === null ? state.scenario : replaced(state.scenario, folder);
};
