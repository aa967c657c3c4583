// JSON text without one member of its top object, every other byte as it was:
// what the caller did not ask for is taken out of a stream's chunks without
// writing the rest anew.

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const OPEN_BRACKET = 91;
const CLOSE_BRACE = 125;
const CLOSE_BRACKET = 93;

/**
 * The text without the top object's members of this name.
 * @param text JSON text of an object; that it is valid is the caller's knowledge.
 * @param name a name that needs no escape in JSON.
 * @returns undefined when the text names no such member in plain letters.
 */
export function removedMember(text: string, name: string): string | undefined {
  if (!text.includes(`"${name}"`)) return undefined;
  let result = '';
  /** What lies before is in `result` or left out. */
  let kept = 0;
  let found = false;
  let depth = 0;
  /** Where the member starts that is being read: just after `{` or `,`. */
  let start = 0;
  /** Whether a member before it stays. */
  let preceded = false;
  let keyRead = false;
  let matched = false;
  for (let i = 0; i < text.length; i += 1) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) {
      const end = stringEnd(text, i);
      if (depth === 1 && !keyRead) {
        keyRead = true;
        matched = end - i - 1 === name.length && text.startsWith(name, i + 1);
      }
      i = end;
      continue;
    }
    if (char === OPEN_BRACE || char === OPEN_BRACKET) {
      depth += 1;
      if (depth === 1) start = i + 1;
      continue;
    }
    const closing = char === CLOSE_BRACE || char === CLOSE_BRACKET;
    if (depth === 1 && (closing || char === COMMA)) {
      if (matched) {
        // A member goes with the comma before it; the first goes with the comma after it.
        found = true;
        result += text.slice(kept, preceded ? start - 1 : start);
        kept = preceded || closing ? i : i + 1;
      } else preceded = true;
      start = i + 1;
      keyRead = false;
      matched = false;
    }
    if (closing) depth -= 1;
  }
  return found ? result + text.slice(kept) : undefined;
}

/** Where the string that opens at `from` closes. */
function stringEnd(text: string, from: number): number {
  let end = text.indexOf('"', from + 1);
  while (end !== -1) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}
