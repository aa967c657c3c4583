// The console's build: src/console as hashed files that browsers keep, each with its compressed twin.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { build } from 'vite';

const compressed = promisify(brotliCompress);
const COMPRESSED = /\.(?:js|css|svg|html)$/;

/** Parts of the console itself, pages and their folders apart. */
const SHARED = { name: 'shared', test: /[\\/]src[\\/]console[\\/][^\\/]+\.tsx?$/, minShareCount: 2 };

/** Builds into a folder that is emptied first; the same sources make the same bytes. @returns the modules that went in */
export async function buildConsole(root: string, out: string): Promise<string[]> {
  const built = await build({
    root: join(root, 'src/console'),
    base: '/console/',
    configFile: false,
    envDir: false,
    logLevel: 'error',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    worker: { format: 'es' },
    build: {
      outDir: out,
      emptyOutDir: true,
      target: 'es2023',
      // Nothing inline: the policy of the page forbids it.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      sourcemap: false,
      // What pages share is one file: a first look at a page loads few.
      rolldownOptions: { output: { codeSplitting: { groups: [SHARED] } } },
    },
  });
  const files = readdirSync(out, { recursive: true, encoding: 'utf8' }).filter((name) =>
    COMPRESSED.test(name),
  );
  await Promise.all(
    files.map(async (name) => {
      const bytes = readFileSync(join(out, name));
      const params = {
        [constants.BROTLI_PARAM_QUALITY]: 11,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      };
      writeFileSync(join(out, `${name}.br`), await compressed(bytes, { params }));
    }),
  );
  const outputs = (Array.isArray(built) ? built : [built]).flatMap((one) =>
    'output' in one ? one.output : [],
  );
  return outputs.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
}
