// Addresses of resources, compared however they are written: escapes, letters' case of the scheme, dots in the path.

/** Whether two URIs mean the same resource. */
export function sameUri(one: string, other: string): boolean {
  return one === other || plainUri(one) === plainUri(other);
}

/** Escapes undone until there are none, then the path's dots resolved. */
export function plainUri(uri: string): string {
  let text = uri;
  for (let i = 0; i < 4 && text.includes('%'); i++) {
    const decoded = decoded1(text);
    if (decoded === text) break;
    text = decoded;
  }
  try {
    return decoded1(new URL(text).href);
  } catch {
    return text;
  }
}

function decoded1(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Whether a URI may be an expansion of a template (RFC 6570, seen generously: an expression may stand for anything). */
export function matchesTemplate(template: string, uri: string): boolean {
  const parts = template.split(/\{[^{}]*\}/);
  return fits(parts, uri) || fits(parts.map(plainPart), plainUri(uri));
}

/** Whether a text begins with the first part, ends with the last, and has the others in order between. */
function fits(parts: readonly string[], text: string): boolean {
  const [first = '', ...rest] = parts;
  if (rest.length === 0) return text === first;
  const last = rest.pop() ?? '';
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
    return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/** The scheme and host of an address are written in small letters. */
function plainPart(part: string, index: number): string {
  const decoded = decoded1(part);
  return index === 0
    ? decoded.replace(/^[a-z][a-z0-9+.-]*:(?:\/\/[^/]*)?/i, (start) => start.toLowerCase())
    : decoded;
}
