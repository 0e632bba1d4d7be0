// SPDX-License-Identifier: GPL-3.0-or-later
// Bundles the page of the planner: index.html as it is, the scripts as app.js, the styles as app.css. The page must not
// have inline scripts or styles, because its Content-Security-Policy forbids them.
//
//   node build.mjs WEB_FOLDER NODE_MODULES OUT_FOLDER
import { copyFileSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const MAX_BYTES = 200_000;

const [source, modules, out] = process.argv.slice(2).map((path) => resolve(path));
const esbuild = createRequire(join(modules, 'x.js'))('esbuild');

const fail = (why) => {
  console.error(`planner page: ${why}`);
  process.exit(1);
};

const bundle = (from, to) =>
  esbuild.buildSync({
    entryPoints: [join(source, from)],
    outfile: join(out, to),
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
  });

mkdirSync(out, { recursive: true });
bundle('src/main.js', 'app.js');
bundle('style.css', 'app.css');
copyFileSync(join(source, 'index.html'), join(out, 'index.html'));
if (/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=/i.test(readFileSync(join(source, 'index.html'), 'utf8')))
  fail('index.html has an inline script, style or handler');
const bytes = ['app.js', 'app.css', 'index.html'].reduce((sum, name) => sum + statSync(join(out, name)).size, 0);
if (bytes > MAX_BYTES) fail(`${bytes} bytes; the maximum is ${MAX_BYTES}`);
console.log(`planner page: ${bytes.toLocaleString('en')} bytes`);
