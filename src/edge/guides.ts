// The guides of src/docs, Markdown in the tree, as pages of HTML under /docs/.
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Marked, type Tokens } from 'marked';

const FOLDER = new URL('../docs/', import.meta.url);

/** The guides in the order of the index; further files of the folder follow by name. */
const ORDER = [
  'quick-start',
  'providers',
  'configs',
  'guardrails',
  'prompts',
  'limits',
  'files-and-batches',
  'logs',
  'console',
  'access',
  'sign-in',
  'agents',
  'mcp',
  'media',
  'operations',
  'clients',
  'operating',
  'declared-state',
  'command-line',
  'telemetry',
  'scaling',
  'migration',
  'security',
  'development',
];

/** The page that lists the guides. */
const INDEX = 'guides';

const STYLE = `body { max-width: 60rem; margin: 0 auto; padding: 0 1rem 3rem; font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; }
nav { padding: 0.75rem 0; border-bottom: 1px solid #ccc; font-size: 0.9rem; }
nav a { margin-right: 0.75rem; white-space: nowrap; }
pre { overflow-x: auto; padding: 0.75rem; background: #f4f4f4; }
code { font: 0.9em ui-monospace, monospace; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { padding: 0.3rem 0.6rem; border: 1px solid #ccc; text-align: left; vertical-align: top; }
`;

/** A page's media type and its bytes when it is requested. */
interface Guide {
  readonly type: string;
  readonly load: () => Promise<Buffer>;
}

/** The guides by their names below /docs/, their index, and the style sheet that they share. */
export function guides(): Map<string, Guide> {
  const names = guideNames();
  const html = (load: () => Promise<string>): Guide => ({
    type: 'text/html; charset=utf-8',
    load: async () => Buffer.from(await load()),
  });
  const pages = names.map((name): [string, Guide] => [
    name,
    html(async () => htmlOf(await read(name), names)),
  ]);
  const style = { type: 'text/css; charset=utf-8', load: () => Promise.resolve(Buffer.from(STYLE)) };
  return new Map([...pages, [INDEX, html(() => indexOf(names))], ['guide.css', style]]);
}

function guideNames(): string[] {
  const there = readdirSync(FOLDER)
    .flatMap((file) => /^([a-z][a-z0-9-]*)\.md$/.exec(file)?.[1] ?? [])
    .sort();
  return [...ORDER.filter((name) => there.includes(name)), ...there.filter((name) => !ORDER.includes(name))];
}

function read(name: string): Promise<string> {
  return readFile(new URL(`${name}.md`, FOLDER), 'utf8');
}

/** The index: each guide with its title and its first paragraph. */
async function indexOf(names: readonly string[]): Promise<string> {
  const entries = await Promise.all(
    names.map(async (name) => {
      const tokens = renderer.lexer(await read(name));
      const first = tokens.find(({ type }) => type === 'paragraph')?.raw.trim() ?? '';
      return `## [${titleOf(tokens)}](${name})\n\n${first}\n`;
    }),
  );
  return htmlOf(`# Guides\n\n${entries.join('\n')}`, names);
}

function titleOf(tokens: readonly { readonly type: string }[]): string {
  const heading = tokens.find((token): token is Tokens.Heading => token.type === 'heading');
  return heading?.text ?? 'Guide';
}

/**
 * A whole page of HTML of a guide's Markdown. HTML in it is shown as text, comments are left out.
 * @param names the guides that the page links to at its top
 */
export function htmlOf(markdown: string, names: readonly string[] = []): string {
  const title = titleOf(renderer.lexer(markdown));
  const links = names.map((name) => `<a href="${name}">${name.replaceAll('-', ' ')}</a>`);
  const nav = [`<a href="${INDEX}">guides</a>`, '<a href="/docs/">API reference</a>', ...links];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} - Sluice</title>
<link rel="icon" type="image/png" sizes="32x32" href="favicon-32x32.png">
<link rel="stylesheet" href="guide.css">
</head>
<body>
<nav>${nav.join('\n')}</nav>
<main>
${renderer.parse(markdown, { async: false })}</main>
</body>
</html>
`;
}

const renderer = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => (/^<!--[\s\S]*-->\s*$/.test(text) ? '' : escaped(text)),
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
  },
  walkTokens(token) {
    if (token.type === 'link') token.href = linkOf(String(token.href));
  },
});

/**
 * A guide may link to the web, to another guide (`limits.md` in the tree is `limits` here), to a path of the gateway and
 * into a page; anything else (javascript:, data:) is no link.
 */
function linkOf(href: string): string {
  const guide = /^([a-z][a-z0-9-]*)\.md(#[\w-]+)?$/.exec(href);
  if (guide !== null) return `${guide[1]}${guide[2] ?? ''}`;
  return /^(?:https?:\/\/|#|[a-z0-9/.-]+$)/i.test(href) ? href : '#';
}

/** A heading's anchor, as hosting sites make it. */
function anchorOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .trim()
    .replace(/\s/g, '-');
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
