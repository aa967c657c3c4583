// /docs: the OpenAPI document, rendered by Swagger UI from this machine alone: no
// CDN, no inline script, so that a strict content security policy holds. The guides are served here too.
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Context, Middleware } from 'koa';
import { readPacked } from '../lib/packed-file.ts';

interface Page {
  readonly type: string;
  readonly load: () => Promise<Buffer>;
}

interface Loaded {
  readonly bytes: Buffer;
  readonly etag: string;
}

const INDEX = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice API</title>
<link rel="icon" type="image/png" sizes="32x32" href="favicon-32x32.png">
<link rel="stylesheet" href="swagger-ui.css">
</head>
<body>
<nav><a href="guides">Guides</a></nav>
<div id="docs"></div>
<noscript>The document itself is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="swagger-ui-bundle.js"></script>
<script src="initializer.js"></script>
</body>
</html>
`;

// A validator badge would send the document's address to a third party.
const INITIALIZER = `window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  validatorUrl: null,
});
`;

/** The files under /docs/ other than the guides, by exact name: nothing else is read from disk. */
const PAGES: ReadonlyMap<string, Page> = new Map([
  ['', text('text/html; charset=utf-8', INDEX)],
  ['initializer.js', text('text/javascript; charset=utf-8', INITIALIZER)],
  ['swagger-ui-bundle.js', packaged('text/javascript; charset=utf-8', 'swagger-ui-bundle.js')],
  ['swagger-ui.css', packaged('text/css; charset=utf-8', 'swagger-ui.css')],
  ['favicon-32x32.png', packaged('image/png', 'favicon-32x32.png')],
]);

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; " +
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  // Asked again each time and answered 304: an upgrade shows at once.
  'cache-control': 'no-cache',
};

/** Serves /docs (a redirect to /docs/) and the few files under it; other paths go on to the next middleware. */
export function docs(): Middleware {
  let known: Promise<ReadonlyMap<string, Page>> | undefined;
  // The renderer of Markdown comes with the first page that is asked for.
  const readPages = async (): Promise<ReadonlyMap<string, Page>> => {
    const { guides } = await import('./guides.ts');
    return new Map([...guides(), ...PAGES]);
  };
  const cache = new Map<string, Promise<Loaded>>();
  const loaded = (name: string, page: Page): Promise<Loaded> => {
    let entry = cache.get(name);
    if (entry === undefined) {
      entry = page.load().then((bytes) => ({ bytes, etag: etagOf(bytes) }));
      // A failed read is tried again by the next request.
      entry.catch(() => cache.delete(name));
      cache.set(name, entry);
    }
    return entry;
  };
  return async (ctx, next) => {
    if (ctx.path === '/docs') {
      ctx.status = 308;
      ctx.set('location', '/docs/');
      return;
    }
    const name = ctx.path.startsWith('/docs/') ? ctx.path.slice('/docs/'.length) : undefined;
    if (name === undefined) return next();
    known ??= readPages();
    const page = (await known).get(name);
    if (page === undefined) return next();
    answer(ctx, page, await loaded(name, page));
  };
}

function answer(ctx: Context, page: Page, { bytes, etag }: Loaded): void {
  ctx.set(HEADERS);
  ctx.set('etag', etag);
  ctx.status = 200;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  ctx.set('content-type', page.type);
  ctx.body = bytes;
}

function text(type: string, content: string): Page {
  return { type, load: () => Promise.resolve(Buffer.from(content)) };
}

function packaged(type: string, file: string): Page {
  return { type, load: () => readPacked(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${file}`))) };
}

function etagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
}
