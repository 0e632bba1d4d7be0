// SPDX-License-Identifier: GPL-3.0-or-later
// Requests to the server. The address that the server printed contains the token. The token is moved from the address
// to the storage of this tab, so that it is neither shown nor stored in the history of the browser.

const KEY = 'headroom-token';

const takeToken = () => {
  const address = new URL(location.href);
  const given = address.searchParams.get('token');
  if (given) {
    sessionStorage.setItem(KEY, given);
    address.searchParams.delete('token');
    history.replaceState(null, '', address);
  }
  return sessionStorage.getItem(KEY) ?? '';
};

const token = takeToken();
export const hasToken = () => token !== '';

// An error of the server, or a missing answer (status 0). `place` is { file, line, column }, or null if it is unknown.
export class ServerError extends Error {
  constructor(status, error) {
    super(error?.message ?? `the server answered with status ${status}`);
    this.status = status;
    this.place = error?.line ? error : null;
  }
}

const ask = async (path, options = {}) => {
  const headers = { 'X-Headroom-Token': token, ...options.headers };
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ServerError(0, { message: 'The server does not answer. Start it again: headroom serve --open' });
  }
  if (answer.ok) return answer;
  const document = await answer.json().catch(() => ({}));
  throw new ServerError(answer.status, document.error);
};

export const getJson = async (path) => (await ask(path)).json();
export const getText = async (path) => (await ask(path)).text();

const posted = (body, signal) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
  signal,
});

export const post = async (path, body, signal) => (await ask(path, posted(body, signal))).json();
export const postForFile = async (path, body) => {
  const answer = await ask(path, posted(body));
  const name = answer.headers.get('Content-Disposition')?.match(/filename="([^"]+)"/)?.[1] ?? 'result';
  return { name, blob: await answer.blob() };
};

export const upload = async (file, query) => {
  const address = `/api/trace?${new URLSearchParams(query.shipped ? query : { name: file.name, ...query })}`;
  return (await ask(address, { method: 'POST', headers: { 'Content-Type': 'application/octet-stream' }, body: file })).json();
};

export const stop = (job) => ask(`/api/stop?job=${encodeURIComponent(job)}`, { method: 'POST' });

const parseEvent = (block) => {
  const lines = block.split('\n');
  const name = lines.find((line) => line.startsWith('event: '))?.slice(7);
  const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
  return name ? { name, data: JSON.parse(data.join('\n')) } : null;
};

// Calls listen({ name, data }) for each event of a stream.
export const postForEvents = async (path, body, listen, signal) => {
  const reader = (await ask(path, posted(body, signal))).body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ; ) {
    const { done, value } = await reader.read();
    const blocks = (rest + (value ?? '')).split('\n\n');
    rest = done ? '' : blocks.pop();
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event) listen(event);
    }
    if (done) return;
  }
};
