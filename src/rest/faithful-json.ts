// Whether a JSON text may be sent on as it is. A text in which a member is named
// twice says one thing to us and perhaps another to the provider; such a text is
// serialised again from the parsed message.

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;

/** Names of an object that are compared with each other; of more a set is kept, which costs more to make. */
const FEW = 24;

/**
 * Whether every object of the text names each member once, in plain letters.
 * @param text valid JSON; strings are skipped at the engine's speed, so long prompts cost little.
 */
export function isFaithful(text: string): boolean {
  /** Names of each open object; undefined for an open array. */
  const open: (string[] | Set<string> | undefined)[] = [];
  let names: string[] | Set<string> | undefined;
  let nameNext = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) {
      const end = closingQuote(text, i);
      if (nameNext && names !== undefined) {
        const name = text.slice(i + 1, end);
        if (name.includes('\\')) return false;
        if (Array.isArray(names)) {
          if (names.includes(name)) return false;
          if (names.push(name) === FEW) names = new Set(names);
        } else {
          if (names.has(name)) return false;
          names.add(name);
        }
        nameNext = false;
      }
      i = end;
    } else if (char === COMMA) {
      nameNext = names !== undefined;
    } else if (char === OPEN_BRACE) {
      open.push(names);
      names = [];
      nameNext = true;
    } else if (char === OPEN_BRACKET) {
      open.push(names);
      names = undefined;
    } else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) {
      names = open.pop();
      nameNext = false;
    }
  }
  return true;
}

/** Characters after an escaped quote that are checked one by one: escaped quotes come in groups. */
const NEAR = 256;

/** Where the string that opens at `from` closes. Linear, however many quotes and backslashes are escaped. */
function closingQuote(text: string, from: number): number {
  for (let i = from + 1; ; ) {
    const quote = text.indexOf('"', i);
    if (quote === -1) return text.length;
    let slashes = 0;
    while (quote - slashes > i && text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return quote;
    i = quote + 1;
    for (const until = Math.min(text.length, i + NEAR); i < until; i++) {
      const char = text.charCodeAt(i);
      if (char === QUOTE) return i;
      if (char === BACKSLASH) i++;
    }
  }
}
