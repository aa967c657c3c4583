// /console: the files of the console's build. Its page is the same at every address below; the files have their hash in
// their names and never change.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Middleware } from 'koa';

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

const POLICY = [
  "default-src 'none'",
  ...['script-src', 'style-src', 'connect-src', 'img-src', 'font-src', 'worker-src'].map(
    (name) => `${name} 'self'`,
  ),
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types sluice',
].join('; ');

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'accept-encoding',
};

interface File {
  readonly type: string;
  readonly bytes: Buffer;
  readonly brotli: Buffer | undefined;
  /** For browsers without TLS, which take no brotli from another machine. Made when it is first asked for. */
  readonly gzip: () => Promise<Buffer>;
}

const gzipped = promisify(gzip);

type Files = ReadonlyMap<string, File>;

/** @param folder of the build; it may be missing */
export function consolePage(folder: URL): Middleware {
  let files: Promise<Files> | undefined;
  return async (ctx) => {
    // Read when it is first asked for: a gateway without visitors keeps none of it in memory.
    files ??= read(fileURLToPath(folder)).catch((error: unknown) => {
      files = undefined;
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map<string, File>();
      throw error;
    });
    const known = await files;
    if (known.size === 0) files = undefined;
    ctx.set(HEADERS);
    const name = ctx.path.slice('/console/'.length);
    const isAsset = name.startsWith('assets/');
    const file = known.get(isAsset ? name : 'index.html');
    if (file === undefined) {
      ctx.status = isAsset ? 404 : 503;
      ctx.set('cache-control', 'no-store');
      ctx.type = 'text/plain';
      ctx.body = isAsset ? 'there is no such file' : NOT_BUILT;
      return;
    }
    ctx.set('cache-control', isAsset ? 'public, max-age=31536000, immutable' : 'no-cache');
    ctx.set('content-type', file.type);
    const coding = file.brotli && ctx.acceptsEncodings('br', 'gzip', 'identity');
    if (coding === 'br' || coding === 'gzip') ctx.set('content-encoding', coding);
    if (coding === 'br') ctx.body = file.brotli;
    else ctx.body = coding === 'gzip' ? await file.gzip() : file.bytes;
  };
}

const NOT_BUILT =
  'The console is not built. It is built with the development dependencies: run `npm ci` and start again. The published package has it.\n';

async function read(folder: string): Promise<Files> {
  const names = await readdir(folder, { recursive: true });
  const found = names.map((name) => name.replaceAll('\\', '/'));
  const files = found.filter((name) => Object.hasOwn(TYPES, endingOf(name)));
  return new Map(
    await Promise.all(
      files.map(async (name): Promise<[string, File]> => {
        const bytes = await readFile(join(folder, name));
        const brotli = found.includes(`${name}.br`) ? await readFile(join(folder, `${name}.br`)) : undefined;
        let made: Promise<Buffer> | undefined;
        const gzip = (): Promise<Buffer> => (made ??= gzipped(bytes, { level: 9 }));
        return [name, { type: TYPES[endingOf(name)] ?? '', bytes, brotli, gzip }];
      }),
    ),
  );
}

function endingOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
