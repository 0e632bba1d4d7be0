// SPDX-License-Identifier: GPL-3.0-or-later
// Builds the single HTML file that the program embeds: template.html with its style and script, self-contained.
//
//   node build.mjs TEMPLATE_FOLDER NODE_MODULES OUT.html
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const MARKER = '<!--headroom:data-->';
const MAX_BYTES = 1_200_000;

const [source, modules, out] = process.argv.slice(2).map((path) => resolve(path));
const esbuild = createRequire(join(modules, 'x.js'))('esbuild');

const fail = (why) => {
  console.error(`report page: ${why}`);
  process.exit(1);
};

const bundle = () =>
  esbuild.buildSync({
    entryPoints: [join(source, 'src/main.js')],
    nodePaths: [modules],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
    metafile: true,
  });

// The licences and notices of all packages in the bundle.
const licences = (inputs) => {
  const packages = new Set(inputs.map((path) => path.match(/.*node_modules\/([^/]+)/)?.[1]).filter(Boolean));
  const files = [...packages].sort().flatMap((name) => {
    const folder = join(modules, name);
    const named = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)(\.|$)/i.test(file));
    const more = existsSync(join(folder, 'licenses'))
      ? readdirSync(join(folder, 'licenses')).map((file) => join('licenses', file))
      : [];
    if (!named.length) fail(`the package ${name} has no licence file`);
    return [...named, ...more].map((file) => `${name}: ${file}\n\n${readFileSync(join(folder, file), 'utf8').trim()}`);
  });
  return files
    .join(`\n\n${'-'.repeat(80)}\n\n`)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;');
};

const style = () => {
  const folder = join(source, 'style');
  const text = readdirSync(folder)
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
  return esbuild.transformSync(text, { loader: 'css', minify: true, charset: 'utf8' }).code;
};

const once = (text, part) =>
  text.split(part).length === 2 || fail(`expected '${part}' once, found it ${text.split(part).length - 1} times`);

const { outputFiles, metafile } = bundle();
const [code, rules] = [outputFiles[0].text, style()];
if (/<\/script|<!--/i.test(code)) fail('the script contains an end tag or a comment');
if (/<\/style/i.test(rules)) fail('the style contains an end tag');
const page = readFileSync(join(source, 'template.html'), 'utf8')
  .replace('/*headroom:style*/', () => rules.trim())
  .replace('<!--headroom:licences-->', () => licences(Object.keys(metafile.inputs)))
  .replace('/*headroom:script*/', () => code.trim());
once(page, MARKER);
once(page, '<title>Headroom</title>');
if (Buffer.byteLength(page) > MAX_BYTES) fail(`${Buffer.byteLength(page)} bytes; the maximum is ${MAX_BYTES}`);
writeFileSync(out, page);
console.log(`report page: ${Buffer.byteLength(page).toLocaleString('en')} bytes`);
