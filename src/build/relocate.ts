// Files that the sources find next to themselves, found in the build: `new URL('./x', import.meta.url)` is rewritten to
// where the build keeps x. A `.ts` becomes an entry of its own (workers, what is loaded late), anything else is copied.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import type { Plugin } from 'rolldown';

const OWN_URL = /new URL\(\s*'([^']+)',\s*import\.meta\.url\s*,?\s*\)/g;
/** A file of the sources that the build would not have. */
const LOST = /\b(?:load|require)\(\s*['"`]\.{1,2}\//;
const PACKAGE_URL = /import\.meta\.resolve\(\s*`([a-z-]+)\/\$\{(\w+)\}`\s*\)/g;

/** What the build copies of packages whose files are served as they are. */
const PACKAGE_FILES: Readonly<Record<string, readonly string[]>> = {
  'swagger-ui-dist': ['swagger-ui-bundle.js', 'swagger-ui.css', 'favicon-32x32.png'],
};

/** What is kept compressed: src/lib/packed-file.ts reads it. */
const PACKED = new Set([
  'gen/openapi.json',
  'src/ledger/prices/seed.json',
  'src/providers/catalog/models.json',
  'swagger-ui-dist/swagger-ui-bundle.js',
  'swagger-ui-dist/swagger-ui.css',
]);

/** @param root of the project @param dist where the build goes; flat, so that `import.meta.url` is always in it */
export function relocate(root: string, dist: string): Plugin {
  const entries = new Map<string, string>();
  const copies = new Map<string, string>();
  return {
    name: 'relocate',
    transform: {
      filter: { id: /\.ts$/, code: /import\.meta/ },
      handler(code, id) {
        if (!id.startsWith(join(root, 'src'))) return null;
        const target = (name: string): string => {
          const path = resolve(dirname(id), name);
          const below = relative(root, path);
          if (below === 'package.json') return '../package.json';
          // What the build writes itself.
          if (below.startsWith('dist')) return `./${below.slice('dist/'.length)}/`;
          if (!below.endsWith('.ts')) {
            copies.set(path, below);
            return `./${below}${name.endsWith('/') ? '/' : ''}`;
          }
          const fileName = `${below.slice('src/'.length, -'.ts'.length).replaceAll('/', '-')}.js`;
          if (!entries.has(path)) {
            entries.set(path, fileName);
            this.emitFile({ type: 'chunk', id: path, fileName });
          }
          return `./${fileName}`;
        };
        if (LOST.test(code)) this.error(`${relative(root, id)}: what is loaded late is named by new URL(…)`);
        return code
          .replaceAll(OWN_URL, (_, name: string) => `new URL('${target(name)}', import.meta.url)`)
          .replaceAll(PACKAGE_URL, (_, name: string, file: string) => {
            for (const each of PACKAGE_FILES[name] ?? this.error(`which files of ${name} are served?`))
              copies.set(join(root, 'node_modules', name, each), join(name, each));
            return `new URL(\`./${name}/\${${file}}\`, import.meta.url).href`;
          });
      },
    },
    writeBundle() {
      for (const [from, to] of copies) {
        if (PACKED.has(to)) writePacked(from, join(dist, to));
        else if (from.endsWith('.json')) writeData(from, join(dist, to));
        else cpSync(from, join(dist, to), { recursive: true });
      }
    },
  };
}

function writePacked(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(`${to}.br`, brotliCompressSync(from.endsWith('.json') ? dataOf(from) : readFileSync(from)));
}

/** Data without the spaces that people read it by. */
function writeData(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, dataOf(from));
}

function dataOf(path: string): string {
  return JSON.stringify(JSON.parse(readFileSync(path, 'utf8')));
}
