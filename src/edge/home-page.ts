// GET /: what this address is, for people as a page and for programs as JSON.
import { readFileSync } from 'node:fs';
import type { Middleware } from 'koa';

interface Link {
  readonly path: string;
  readonly title: string;
}

const LINKS: readonly Link[] = [
  { path: '/console', title: 'Console' },
  { path: '/docs/quick-start', title: 'Quick start' },
  { path: '/docs/guides', title: 'Guides' },
  { path: '/docs', title: 'API reference' },
  { path: '/openapi.json', title: 'OpenAPI document' },
  { path: '/health', title: 'Health' },
  { path: '/readyz', title: 'Readiness' },
  { path: '/metrics', title: 'Metrics' },
];

const STYLE = `body { max-width: 40rem; margin: 0 auto; padding: 2rem 1rem; font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; }
code { font: 0.9em ui-monospace, monospace; }`;

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
  vary: 'accept',
};

/** The page, or `{name, version, base, links}` where JSON is preferred. It says nothing of keys, settings or tenants. */
export function homePage(): Middleware {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  };
  const html = pageOf(version);
  const links = Object.fromEntries(
    LINKS.map(({ path, title }) => [title.toLowerCase().replaceAll(' ', '_'), path]),
  );
  return (ctx) => {
    ctx.set(HEADERS);
    if (ctx.accepts('html', 'json') === 'json') ctx.body = { name: 'Sluice', version, base: '/v1', links };
    else {
      ctx.type = 'html';
      ctx.body = html;
    }
  };
}

function pageOf(version: string): string {
  const items = LINKS.map(
    ({ path, title }) => `<li><a href="${path}">${title}</a> <code>${path}</code></li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Sluice ${version}</h1>
<p>This is an AI gateway. Its API is under <code>/v1</code>, over REST with server-sent events; gRPC, gRPC-Web and Connect are on the
same port.</p>
<p>A call needs a key: <code>x-gateway-api-key</code>, or <code>Authorization: Bearer</code>. The first start of a gateway prints its
keys.</p>
<ul>
${items.join('\n')}
</ul>
</body>
</html>
`;
}
