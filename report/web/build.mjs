// SPDX-License-Identifier: GPL-3.0-or-later
// Makes the one file that the program embeds: template.html with its style, its script and nothing from outside.
//
//   node build.mjs TEMPLATE_FOLDER NODE_MODULES OUT.html
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const MARKER = '<!--headroom:data-->';
const MOST_BYTES = 1_200_000;

const [source, modules, out] = process.argv.slice(2).map((path) => resolve(path));
const esbuild = createRequire(join(modules, 'x.js'))('esbuild');

const script = () =>
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
  }).outputFiles[0].text;

const style = () => {
  const folder = join(source, 'style');
  const text = readdirSync(folder)
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
  return esbuild.transformSync(text, { loader: 'css', minify: true, charset: 'utf8' }).code;
};

const fail = (why) => {
  console.error(`report page: ${why}`);
  process.exit(1);
};

const once = (text, part) => text.split(part).length === 2 || fail(`'${part}' stands in it ${text.split(part).length - 1} times, not once`);

const [code, rules] = [script(), style()];
if (/<\/script|<!--/i.test(code)) fail('the script holds what would end its element');
if (/<\/style/i.test(rules)) fail('the style holds what would end its element');
const page = readFileSync(join(source, 'template.html'), 'utf8')
  .replace('/*headroom:style*/', () => rules.trim())
  .replace('/*headroom:script*/', () => code.trim());
once(page, MARKER);
once(page, '<title>Headroom</title>');
if (Buffer.byteLength(page) > MOST_BYTES) fail(`${Buffer.byteLength(page)} bytes; at most ${MOST_BYTES} are allowed`);
writeFileSync(out, page);
console.log(`report page: ${Buffer.byteLength(page).toLocaleString('en')} bytes`);
