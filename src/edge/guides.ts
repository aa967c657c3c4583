// The guides of src/docs, Markdown in the tree, as pages of HTML under /docs/.
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Marked } from 'marked';

const FOLDER = new URL('../docs/', import.meta.url);

const STYLE = `body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; }
pre { overflow-x: auto; padding: 0.75rem; background: #f4f4f4; }
code { font: 0.9em ui-monospace, monospace; }
table { border-collapse: collapse; }
th, td { padding: 0.3rem 0.6rem; border: 1px solid #ccc; text-align: left; vertical-align: top; }
`;

/** A page's media type and its bytes when it is asked for. */
interface Guide {
  readonly type: string;
  readonly load: () => Promise<Buffer>;
}

/** The guides by their names below /docs/, and the style sheet that they share. */
export function guides(): Map<string, Guide> {
  const names = readdirSync(FOLDER).flatMap((file) => /^([a-z][a-z0-9-]*)\.md$/.exec(file)?.[1] ?? []);
  const pages = names.map((name): [string, Guide] => [
    name,
    { type: 'text/html; charset=utf-8', load: async () => Buffer.from(await page(name)) },
  ]);
  const style = { type: 'text/css; charset=utf-8', load: () => Promise.resolve(Buffer.from(STYLE)) };
  return new Map([...pages, ['guide.css', style]]);
}

async function page(name: string): Promise<string> {
  return htmlOf(await readFile(new URL(`${name}.md`, FOLDER), 'utf8'));
}

/** A whole page of HTML of a guide's Markdown. HTML in it is shown as text, comments are left out. */
export function htmlOf(markdown: string): string {
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? 'Guide';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<link rel="icon" type="image/png" sizes="32x32" href="favicon-32x32.png">
<link rel="stylesheet" href="guide.css">
</head>
<body>
${renderer.parse(markdown, { async: false })}</body>
</html>
`;
}

const renderer = new Marked({
  gfm: true,
  renderer: { html: ({ text }) => (/^<!--[\s\S]*-->\s*$/.test(text) ? '' : escaped(text)) },
  walkTokens(token) {
    // A guide may lead to the web, to another guide and into itself; anything else (javascript:, data:) is no link.
    if (token.type === 'link' && !/^(?:https?:\/\/|#|[a-z0-9/.-]+$)/i.test(String(token.href)))
      token.href = '#';
  },
});

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
