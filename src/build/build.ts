// The build: the sources and the packages that they use as JavaScript in dist/, split where they load late.
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { builtins } from './builtins.ts';
import { lazyDescriptors } from './lazy-descriptors.ts';
import { thirdPartyLicences } from './licences.ts';
import { relocate } from './relocate.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const { fingerprint } = createRequire(import.meta.url)('../launch.cjs') as {
  fingerprint(root: string): string;
};

/** Builds into a folder next to dist/, which takes its place when all of it is written. @returns milliseconds */
export async function build(root = ROOT, dist = join(root, 'dist')): Promise<number> {
  const began = performance.now();
  // Taken first: a file that changes meanwhile makes the build stale.
  const of = fingerprint(root);
  const scratch = `${dist}.${process.pid}`;
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  try {
    const bundle = await rolldown({
      cwd: root,
      input: { main: join(root, 'src/main.ts') },
      platform: 'node',
      resolve: { alias: modulesOf(root) },
      plugins: [
        slim,
        fewTypes,
        plainBodies,
        lazyDescriptors(root),
        builtins,
        relocate(root, scratch),
        asciiOnly,
      ],
      onLog: (level, { code, message }, report) => {
        // depd, of Koa, makes a wrapper by it; packages load late what others of them load at once.
        if (code === 'EVAL' || code === 'INEFFECTIVE_DYNAMIC_IMPORT') return;
        if (level === 'warn') throw new Error(message);
        report(level, message);
      },
    });
    const { output } = await bundle.write({
      dir: scratch,
      // Scripts, of which the engine keeps the code that a start runs: see src/lib/code-cache.ts.
      format: 'cjs',
      strict: true,
      chunkFileNames: '[name]-[hash].js',
      comments: { legal: false },
      // The engine holds the text of all that is loaded. Names of functions and classes stay: traces and errors show them.
      minify: { mangle: { toplevel: true, keepNames: true }, compress: false, codegen: true },
    });
    await bundle.close();
    // The validator of OpenAPI documents reads them next to itself.
    cpSync(join(root, 'node_modules/@seriousme/openapi-schema-validator/schemas'), join(scratch, 'schemas'), {
      recursive: true,
    });
    const modules = output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
    const { buildConsole } = await import('./console.ts');
    const browsers = await buildConsole(root, join(scratch, 'console'));
    writeFileSync(join(scratch, 'THIRD-PARTY-LICENSES'), thirdPartyLicences(root, [...modules, ...browsers]));
    writeFileSync(join(scratch, 'package.json'), '{"type":"commonjs"}\n');
    writeFileSync(join(scratch, 'build.json'), `${JSON.stringify({ of })}\n`);
    rmSync(dist, { recursive: true, force: true });
    renameSync(scratch, dist);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return performance.now() - began;
}

/** Packages whose main module loads all that they have, and what is used of them. */
const SLIM: Readonly<Record<string, string>> = {
  undici: `export { default as Pool } from 'undici/lib/dispatcher/pool.js';
    export { default as buildConnector } from 'undici/lib/core/connect.js';`,
};

/** Packages that lead Node.js to CommonJS, of which all would be taken: their ES modules. */
function modulesOf(root: string): Record<string, string> {
  const folder = join(root, 'node_modules/@smithy');
  return {
    '@smithy/core': join(folder, 'core/dist-es/submodules'),
    '@smithy/signature-v4': join(folder, 'signature-v4/dist-es'),
  };
}

const slim: Plugin = {
  name: 'slim',
  resolveId: { filter: { id: /^[a-z]+$/ }, handler: (id) => (id in SLIM ? `\0slim:${id}` : null) },
  load: { filter: { id: /^\0slim:/ }, handler: (id) => SLIM[id.slice('\0slim:'.length)] },
};

/** Media types that the gateway's own answers have and that it tells apart; the whole list takes two megabytes of memory. */
const TYPES =
  /^(?:text\/(?:html|plain|css|javascript|markdown|csv|xml|yaml)|application\/(?:json|javascript|octet-stream|xml|wasm|x-www-form-urlencoded|manifest\+json)|image\/(?:png|svg\+xml|jpeg|webp|gif|vnd\.microsoft\.icon|x-icon)|font\/woff2?|multipart\/form-data)$/;

const fewTypes: Plugin = {
  name: 'few-types',
  load: {
    filter: { id: /[\\/]mime-db[\\/]db\.json$/ },
    handler(id) {
      const all = Object.entries(JSON.parse(readFileSync(id, 'utf8')) as object);
      const code = JSON.stringify(Object.fromEntries(all.filter(([type]) => TYPES.test(type))));
      return { code, moduleType: 'json' };
    },
  },
};

/** What Koa asks of each body: the globals that it names load the library of `fetch`, two megabytes, for the first answer. */
const FETCH_BODY = /\b\w+ instanceof (?:Response|ReadableStream|Blob)\b/g;

/** No answer of the gateway has a body of `fetch`. */
const plainBodies: Plugin = {
  name: 'plain-bodies',
  transform: {
    filter: { id: /[\\/]koa[\\/]lib[\\/](?:application|response)\.js$/ },
    handler(code, id) {
      const plain = code.replaceAll(FETCH_BODY, 'false');
      return plain === code ? this.error(`${id}: asks no body whether it is one of fetch`) : plain;
    },
  },
};

/** V8 keeps a source with any other character in two bytes for each. */
const asciiOnly: Plugin = {
  name: 'ascii-only',
  generateBundle(_, parts) {
    for (const part of Object.values(parts)) if (part.type === 'chunk') part.code = asciiOf(part.code);
  },
};

/** Escapes mean the same wherever such characters stand: in strings, templates and patterns. */
function asciiOf(code: string): string {
  // A vocabulary is mostly such characters: their escapes would take more than they save.
  if (code.replaceAll(/[\0-\xff]/g, '').length > code.length / 100) return code;
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

if (import.meta.main) {
  const ms = await build();
  process.stdout.write(`built dist/ in ${(ms / 1000).toFixed(1)} s\n`);
}
