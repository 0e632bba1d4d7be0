// SPDX-License-Identifier: GPL-3.0-or-later
// Filters and sorts the rows of the job table, which are stored as typed arrays.

// columns: object of typed arrays, by column name. text: object of lists of texts; the values of a text column are
// indices into the list with its name. ids: list of job ids, or null if the ids are a column of numbers.
export const makeRows = (columns, text, ids, count) => {
  const id = (row) => (ids ? ids[row] : String(columns.id ? columns.id[row] : row));
  const textOf = (name, row) => (columns[name] && text[name] ? (text[name][columns[name][row]] ?? '') : '');
  const lower = Object.fromEntries(
    ['tenant', 'user'].map((name) => [name, (text[name] ?? []).map((word) => word.toLowerCase())]),
  );

  const matcher = (words) => {
    const wanted = words.trim().toLowerCase();
    if (!wanted) return null;
    const places = (name) => new Set((lower[name] ?? []).flatMap((word, i) => (word.includes(wanted) ? [i] : [])));
    const [tenants, users] = [columns.tenant ? places('tenant') : null, columns.user ? places('user') : null];
    return (row) =>
      tenants?.has(columns.tenant[row]) || users?.has(columns.user[row]) || id(row).toLowerCase().includes(wanted);
  };

  // wanted: { search, class, tenant, state: indices into the text lists or '', wait: seconds or '' }
  const find = (wanted) => {
    const tests = ['class', 'tenant', 'state']
      .filter((name) => wanted[name] !== '' && columns[name])
      .map((name) => {
        const [list, place] = [columns[name], Number(wanted[name])];
        return (row) => list[row] === place;
      });
    if (wanted.wait !== '') tests.push((row) => columns.wait_s[row] > Number(wanted.wait));
    const search = matcher(wanted.search);
    if (search) tests.push(search);
    const found = new Uint32Array(count);
    let n = 0;
    for (let row = 0; row < count; row++) if (tests.every((test) => test(row))) found[n++] = row;
    return found.subarray(0, n);
  };

  const rankOf = (name) => {
    if (name === 'id') {
      if (!ids) return columns.id ? (row) => columns.id[row] : (row) => row;
      const order = Array.from(ids.keys()).sort((a, b) => (ids[a] < ids[b] ? -1 : ids[a] > ids[b] ? 1 : 0));
      const rank = new Uint32Array(count);
      order.forEach((row, i) => (rank[row] = i));
      return (row) => rank[row];
    }
    if (!text[name]) return (row) => columns[name][row];
    const order = text[name].map((word, i) => [word, i]).sort((a, b) => (a[0] < b[0] ? -1 : 1));
    const rank = [];
    order.forEach(([, i], place) => (rank[i] = place));
    return (row) => rank[columns[name][row]];
  };

  const ranks = new Map();
  // Rows with equal values remain in the order of the trace.
  const sort = (rows, name, down) => {
    if (!ranks.has(name)) ranks.set(name, rankOf(name));
    const rank = ranks.get(name);
    const sign = down ? -1 : 1;
    return rows.sort((a, b) => sign * (rank(a) - rank(b)) || a - b);
  };

  return {
    id,
    textOf,
    find,
    sort,
    number: (name, row) => (columns[name] ? columns[name][row] : null),
    has: (name) => Boolean(columns[name]),
  };
};
