// Whether a text is found in what was said in a request: the definition that every adapter uses.
import type { BodiesRecord, BodyRecord } from '../log-store.ts';

/** JSON within JSON within JSON: arguments of tools are two deep. */
const LEVELS = 3;
const ESCAPE = /\\(?:u([0-9a-f]{4})|(["\\/bfnrt]))/g;
const CONTROL: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/**
 * Whether one of the four bodies holds a text, as it is stored or with the escapes of JSON read. What is no text (base64)
 * is not searched, and neither are headers, addresses and results of guardrails.
 * @param needle in lower case
 */
export function bodiesHold(record: BodiesRecord, needle: string): boolean {
  const { request, response, transformedRequest, originalResponse } = record;
  return [request, response, transformedRequest, originalResponse].some((message) => holds(message, needle));
}

function holds(message: BodyRecord | undefined, needle: string): boolean {
  if (message?.body === undefined || message.base64) return false;
  let text = message.body.toLowerCase();
  for (let level = 0; level < LEVELS; level++) {
    if (text.includes(needle)) return true;
    if (!text.includes('\\')) return false;
    text = unescaped(text);
  }
  return text.includes(needle);
}

/** A text in lower case with one level of JSON's escapes read. */
function unescaped(text: string): string {
  return text
    .replace(ESCAPE, (_, code: string | undefined, sign: string) =>
      code === undefined ? (CONTROL[sign] ?? sign) : String.fromCharCode(Number.parseInt(code, 16)),
    )
    .toLowerCase();
}
