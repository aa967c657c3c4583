// The strings within JSON that stands as text, without their escapes: what a tool is told by its arguments.
import { stringsIn } from './strings-in.ts';

const ESCAPE = /\\(?:u([\da-fA-F]{4})|(["\\/bfnrt]))/g;
const PLAIN: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** The strings joined by line feeds. Of what is no JSON, the text with its escapes undone: a reader may understand it. */
export function plainStrings(json: string): string {
  if (!json.includes('\\')) return '';
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return json.replace(ESCAPE, (_, code: string | undefined, sign: string) =>
      code === undefined ? (PLAIN[sign] ?? sign) : String.fromCharCode(Number.parseInt(code, 16)),
    );
  }
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  return stringsIn(value)
    .map(({ text }) => text)
    .join('\n');
}
