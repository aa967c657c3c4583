// JSON within a text that people or models wrote: the whole text, fenced blocks, runs in braces or brackets.

const MOST_VALUES = 20;
const FENCE = /```[^\n`]*\n?([\s\S]*?)```/g;

/** The objects and arrays in a text, those in fenced blocks first; at most 20. */
export function jsonIn(text: string): unknown[] {
  const whole = parse(text.trim());
  if (isContainer(whole)) return [whole];
  const found: unknown[] = [];
  // Blocks first: a model that explains itself puts its answer there.
  for (const [, inner] of text.matchAll(FENCE)) {
    const value = parse((inner ?? '').trim());
    if (isContainer(value)) found.push(value);
    if (found.length === MOST_VALUES) return found;
  }
  const rest = found.length === 0 ? text : text.replace(FENCE, ' ');
  for (let at = nextOpening(rest, 0); at !== -1; ) {
    const end = endOfJson(rest, at);
    const value = end === -1 ? undefined : parse(rest.slice(at, end));
    if (isContainer(value)) found.push(value);
    if (found.length === MOST_VALUES) return found;
    at = nextOpening(rest, isContainer(value) ? end : at + 1);
  }
  return found;
}

function isContainer(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function nextOpening(text: string, from: number): number {
  for (let i = from; i < text.length; i++) {
    const char = text[i];
    if (char === '{' || char === '[') return i;
  }
  return -1;
}

/** Where the value that opens at `at` closes, one past its last character; -1 when it does not. Strings are skipped. */
function endOfJson(text: string, at: number): number {
  const open: string[] = [];
  for (let i = at; i < text.length; i++) {
    const char = text[i];
    if (char === '"') {
      i = endOfString(text, i);
      if (i === -1) return -1;
    } else if (char === '{' || char === '[') {
      open.push(char === '{' ? '}' : ']');
    } else if (char === '}' || char === ']') {
      if (open.pop() !== char) return -1;
      if (open.length === 0) return i + 1;
    }
  }
  return -1;
}

function endOfString(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '"') return i;
  }
  return -1;
}
