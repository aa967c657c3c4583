// Pages of OAuth: plain HTML without scripts. What clients and servers say of themselves is text, whatever it looks like.
import { createHash } from 'node:crypto';
import type { Context } from 'koa';

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem;color:#1b1b1f;background:#fff}
h1{font-size:1.4rem}dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem}dt{color:#5b5b66}dd{margin:0;overflow-wrap:anywhere}
.note{border-left:4px solid #b06000;padding:.25rem .75rem;background:#fff6e5}label{display:block;margin:1rem 0}
select,button{padding:.5rem 1.25rem;font:inherit}button{margin-right:.5rem}
@media (prefers-color-scheme:dark){body{color:#e6e6ea;background:#17171b}dt{color:#a0a0ab}.note{background:#3a2c12}}`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** HTML that was escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** HTML with its values escaped; lists and `Html` are put in as they are. */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly (string | Html | readonly Html[])[]
): Html {
  let text = parts[0] ?? '';
  for (const [i, value] of values.entries()) text += escaped(value) + (parts[i + 1] ?? '');
  return new Html(text);
}

function escaped(value: string | Html | readonly Html[]): string {
  if (value instanceof Html) return value.text;
  if (typeof value !== 'string') return value.map(({ text }) => text).join('');
  return value.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
}

/** Answers with a page. @param formTargets where its form may lead, as sources of a content security policy */
export function respondPage(
  ctx: Context,
  status: number,
  title: string,
  body: Html,
  formTargets: readonly string[] = [],
): void {
  pageHeaders(ctx);
  ctx.set(
    'content-security-policy',
    `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'; ` +
      `form-action ${formTargets.length === 0 ? "'none'" : ["'self'", ...formTargets].join(' ')}`,
  );
  ctx.status = status;
  ctx.set('content-type', 'text/html; charset=utf-8');
  ctx.body = html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>
<style>${new Html(STYLE)}</style></head>
<body><main><h1>${title}</h1>
${body}
</main></body>
</html>
`.text;
}

export function respondRedirect(ctx: Context, location: string): void {
  pageHeaders(ctx);
  ctx.set('location', location);
  ctx.body = null;
  ctx.status = 303;
}

function pageHeaders(ctx: Context): void {
  ctx.set('cache-control', 'no-store');
  ctx.set('referrer-policy', 'no-referrer');
  ctx.set('x-content-type-options', 'nosniff');
  ctx.set('x-frame-options', 'DENY');
}
