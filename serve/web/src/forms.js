// SPDX-License-Identifier: GPL-3.0-or-later
// Forms for all keys of a scenario, generated from its JSON Schema. A form shows the keys that are set, and a list of
// the keys that can be added. The catalogue suggests GPU types, providers and instance types.

import { el } from '../../../report/web/src/dom.js';
import { allPools, changed, edit, getPath, pathName, state } from './state.js';

const LISTS = { gpu: 'gpu-types', provider: 'providers', instance: 'instances' };

const kindOf = (schema, value) => {
  const kinds = [schema?.type].flat().filter(Boolean);
  if (value !== undefined) {
    if (Array.isArray(value)) return 'array';
    if (value !== null && typeof value === 'object') return 'object';
    if (typeof value === 'number') return kinds.includes('integer') ? 'integer' : 'number';
    return typeof value;
  }
  return schema?.enum ? 'string' : (kinds.find((kind) => kind !== 'string') ?? kinds[0] ?? 'string');
};

const emptyOf = (schema) => {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  const kind = kindOf(schema);
  if (kind === 'object') return Object.fromEntries((schema.required ?? []).map((key) => [key, emptyOf(schema.properties?.[key] ?? {})]));
  if (kind === 'array') return Array.from({ length: schema.minItems ?? 0 }, () => emptyOf(schema.items ?? {}));
  if (kind === 'boolean') return false;
  return kind === 'string' ? '' : Math.max(schema.minimum ?? 0, Math.min(0, schema.maximum ?? 0));
};

// The ids of the elements for a path. The element addId adds keys or items to a group.
const keyId = (path) => `key-${pathName(path)}`;
const groupId = (path) => `group-${pathName(path)}`;
const addId = (path) => `add-${pathName(path)}`;
const nameId = (path) => `name-${pathName(path)}`;
const TITLE = 'forms-title';

// After a key was added or removed, the forms are built again. Then the first of these elements that exists gets the
// focus.
let focusIds = [];
const addKey = (path, value) => {
  focusIds = [keyId(path), groupId(path)];
  edit(path, value, true);
};
const removeKey = (path) => {
  const around = path.slice(0, -1);
  focusIds = [addId(around), groupId(around), TITLE];
  edit(path, undefined, true);
};

const inputOf = (path, key, schema, value) => {
  const kind = kindOf(schema, value);
  const attributes = { id: keyId(path), 'aria-describedby': schema.description ? `help-${pathName(path)}` : null };
  if (kind === 'boolean')
    return el('input', { ...attributes, type: 'checkbox', checked: value, onchange: (event) => edit(path, event.target.checked) });
  if (schema.enum)
    return el('select', { ...attributes, onchange: (event) => edit(path, event.target.value, true) }, schema.enum.map((word) => el('option', { value: word, selected: word === value }, word)));
  const isNumber = kind === 'number' || kind === 'integer';
  return el('input', {
    ...attributes,
    type: isNumber ? 'number' : 'text',
    value,
    min: isNumber ? schema.minimum : null,
    max: isNumber ? schema.maximum : null,
    step: kind === 'integer' ? 1 : isNumber ? 'any' : null,
    list: LISTS[key] ?? null,
    // If a number field is empty, its key is removed; the value is not 0.
    onchange: ({ target }) => {
      if (!isNumber) edit(path, target.value);
      else if (target.value === '') {
        if (target.validity.badInput) return;
        removeKey(path);
      } else edit(path, Number(target.value));
    },
  });
};

const remove = (path, name) =>
  el('button', { type: 'button', class: 'small', 'aria-label': `Remove ${name}`, onclick: () => removeKey(path) }, '×');

const scalar = (path, key, schema, value) =>
  el(
    'div',
    { class: 'key' },
    el('label', { for: keyId(path) }, key),
    inputOf(path, key, schema, value),
    remove(path, key),
    schema.description ? el('p', { class: 'help', id: `help-${pathName(path)}` }, schema.description) : null,
  );

const schemaOf = (schema, key) => schema.properties?.[key] ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {});

// True if the user chooses the keys of an object, such as the names of models.
const hasFreeNames = (schema) => typeof schema.additionalProperties === 'object' && !schema.propertyNames?.enum;

// The form for the name of a new entry of an object with free names. Names that begin with // are comments.
const entryAdder = (path, schema, present) => {
  const of = path.at(-1);
  const name = el('input', { id: nameId(path), type: 'text', required: true, maxlength: 200, oninput: () => name.setCustomValidity('') });
  const faultOf = (key) => (Object.hasOwn(present, key) ? `There is already an entry ${key}.` : !key || key.startsWith('//') || key === '__proto__' ? 'This cannot be a name.' : '');
  return el(
    'form',
    {
      class: 'row',
      onsubmit: (event) => {
        event.preventDefault();
        const key = name.value.trim();
        name.setCustomValidity(faultOf(key));
        if (name.reportValidity()) addKey([...path, key], emptyOf(schemaOf(schema, key)));
      },
    },
    el('label', {}, `Name of a new entry of ${of} `, name),
    el('button', { type: 'submit', id: addId(path) }, 'Add an entry'),
  );
};

// A list of the keys that are not set.
const adder = (path, schema, present) => {
  if (hasFreeNames(schema)) return entryAdder(path, schema, present);
  const known = Object.entries(schema.properties ?? {}).filter(([key]) => !(key in present));
  const names = (schema.propertyNames?.enum ?? []).filter((key) => !(key in present) && !schema.properties?.[key]);
  if (!known.length && !names.length) return null;
  return el(
    'label',
    { class: 'add' },
    'Add a key ',
    el(
      'select',
      { id: addId(path), onchange: (event) => event.target.value && addKey([...path, event.target.value], emptyOf(schemaOf(schema, event.target.value))) },
      el('option', { value: '' }, '...'),
      [...known.map(([key, { description }]) => [key, description]), ...names.map((key) => [key, ''])].map(([key, title]) => el('option', { value: key, title }, key)),
    ),
  );
};

// The groups that are open, by path. Read from the page before the forms are built again: the event `toggle` of a group
// may come later.
const opened = new Set(['cluster', 'cluster.pools']);

const readOpened = (section) => {
  for (const { open, dataset } of section.querySelectorAll('details[data-group]')) opened[open ? 'add' : 'delete'](dataset.group);
};

const group = (path, key, schema, value, children) =>
  el(
    'details',
    { open: opened.has(pathName(path)), 'data-group': pathName(path) },
    el('summary', { id: groupId(path) }, value?.name ? `${key}: ${value.name}` : key),
    schema.description ? el('p', { class: 'help' }, schema.description) : null,
    children,
    el('p', { class: 'row' }, remove(path, key), ` remove ${key}`),
  );

const field = (path, key, schema, value) => {
  const kind = kindOf(schema, value);
  if (kind === 'object') return group(path, key, schema, value, objectFields(path, schema, value));
  if (kind !== 'array') return scalar(path, key, schema, value);
  const items = value.map((item, i) => field([...path, i], `${i + 1}`, schema.items ?? {}, item));
  const add = el('button', { type: 'button', id: addId(path), onclick: () => addKey([...path, value.length], emptyOf(schema.items ?? {})) }, `Add to ${key}`);
  return group(path, key, schema, null, [...items, add]);
};

const objectFields = (path, schema, value) => [
  ...Object.entries(value)
    .filter(([key]) => !key.startsWith('//') && key !== '$schema')
    .map(([key, item]) => field([...path, key], key, schemaOf(schema, key), item)),
  adder(path, schema, value),
];

export const fillForms = (section, schema) => {
  section.hidden = !state.scenario;
  if (!state.scenario || !schema) return;
  const ids = section.contains(document.activeElement) ? [...focusIds, document.activeElement.id] : focusIds;
  focusIds = [];
  readOpened(section);
  section.replaceChildren(
    el('h2', { id: TITLE, tabindex: -1 }, 'Scenario'),
    el('p', { class: 'lead' }, 'All keys of the scenario. A change is run at once.'),
    el('div', { class: 'form' }, objectFields([], schema, state.scenario)),
  );
  ids.map((id) => document.getElementById(id)).find(Boolean)?.focus();
};

// Shows a value that a slider has changed. If the key was not set before, it has no field, so the forms are built
// again.
export const showValue = (schema, section) => {
  const input = document.getElementById(keyId(changed));
  const value = getPath(changed);
  if (!input) fillForms(section, schema);
  else if (input !== document.activeElement && input.type !== 'checkbox') input.value = String(value);
};

const datalist = (id, names) => el('datalist', { id }, [...new Set(names)].map((name) => el('option', { value: name })));

export const catalogueLists = ({ gpus, instances }) => [
  datalist('gpu-types', gpus.map(({ name }) => name)),
  datalist('providers', instances.map(({ provider }) => provider)),
  datalist('instances', instances.map(({ name }) => name)),
];

// Returns the path of a pool in the scenario (undefined if the pool does not exist), and the GPUs of a node.
export const poolGpus = (name) => {
  const found = allPools().find((of) => of.name === name);
  const run = state.result?.cluster.pools.find((of) => of.name === name);
  return { path: found?.path, gpusPerNode: run?.gpus_per_node ?? found?.pool.gpus_per_node ?? 1 };
};
