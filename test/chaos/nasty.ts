// JSON that is cheap to send and dear to read: what the fuzzer of the event loop sends in the place of every text,
// object and list. Numbers are drawn from a seed, so that a run can be repeated.

/** A source of numbers from 0 up to 1. */
export type Chance = () => number;

/** mulberry32. */
export function chanceOf(seed: number): Chance {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const list = (piece: string, bytes: number): string =>
  `[${`${piece},`.repeat(Math.floor(bytes / (piece.length + 1)))}${piece}]`;
const keys = (bytes: number, value: string): string => {
  const members: string[] = [];
  for (let size = 2, i = 0; size < bytes; i++) {
    const member = `"k${i}":${value}`;
    members.push(member);
    size += member.length + 1;
  }
  return `{${members.join()}}`;
};
const nest = (open: string, close: string, bytes: number): string => {
  const depth = Math.floor(bytes / (open.length + close.length));
  return open.repeat(depth) + close.repeat(depth);
};

/** JSON values of about so many bytes, by name. */
export const VALUES: Readonly<Record<string, (bytes: number) => string>> = {
  'a long text': (bytes) => `"${'x'.repeat(bytes)}"`,
  'odd signs': (bytes) => `"${'\u0130\u{1F9D1}\u200d\u0301\ufeff.'.repeat(bytes / 16)}"`,
  'escaped signs': (bytes) => `"${'\\u0041\\n'.repeat(bytes / 8)}"`,
  'escaped quotes': (bytes) => `"${'\\"'.repeat(bytes / 2)}"`,
  'escaped backslashes': (bytes) => `"${'\\\\'.repeat(bytes / 2)}"`,
  'escaped lines': (bytes) => `"${'some words \\n'.repeat(bytes / 13)}"`,
  'lone surrogates': (bytes) => `"${'\\ud800'.repeat(bytes / 6)}"`,
  'ends of sentences': (bytes) => `"${'. ! ? '.repeat(bytes / 6)}"`,
  fences: (bytes) => `"${'```a\\n'.repeat(bytes / 6)}"`,
  URLs: (bytes) => `"${'https://a.b/c '.repeat(bytes / 14)}"`,
  blanks: (bytes) => `"${' '.repeat(bytes)}"`,
  'JSON in a text': (bytes) => JSON.stringify(list('{\\"a\\":1}', bytes / 2)),
  numbers: (bytes) => list('1', bytes),
  'long numbers': (bytes) => list('1.2345678901234567e-300', bytes),
  'empty objects': (bytes) => list('{}', bytes),
  'empty lists': (bytes) => list('[]', bytes),
  'small texts': (bytes) => list('"ab"', bytes),
  messages: (bytes) => list('{"role":"user","content":"hi"}', bytes),
  parts: (bytes) => list('{"type":"text","text":"hi"}', bytes),
  'many keys': (bytes) => keys(bytes, '1'),
  'many objects by key': (bytes) => keys(bytes, '{"a":[]}'),
  'a deep list': (bytes) => nest('[', ']', bytes),
  'a deep object': (bytes) => nest('{"a":', '}', bytes).replace(':}', ':1}'),
};

/** One of a list. */
export function oneOf<T>(chance: Chance, items: readonly T[]): T {
  return items[Math.floor(chance() * items.length)]!;
}
