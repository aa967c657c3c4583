// Whether a JSON text may be sent on as it is. A text in which a member is named
// twice says one thing to us and perhaps another to the provider; such a text is
// written anew from what we read.

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;

/** Names of an object that are compared with each other; those of longer ones are kept in a set. */
const FEW = 24;
/** Names that are open at once and are noted by their places; of texts with more, sets are kept. */
const MOST_NOTED = 512;
const MOST_OPEN = 64;
/** In an object's place: an array, which has no names. */
const ARRAY = -1;

/** Where the names of open objects begin and end, innermost last. Used within one call, so one for all. */
const begins = new Int32Array(MOST_NOTED);
const ends = new Int32Array(MOST_NOTED);
/** How many names were noted before each open object. */
const opened = new Int32Array(MOST_OPEN);

/**
 * Whether every object of the text names each member once, in plain letters.
 * @param text valid JSON; strings are skipped at the engine's speed, so long prompts cost little.
 */
export function isFaithful(text: string): boolean {
  let depth = 0;
  let noted = 0;
  /** The first name of the innermost object. */
  let first = ARRAY;
  let nameNext = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) {
      const end = closingQuote(text, i);
      if (nameNext) {
        if (noted === MOST_NOTED || noted - first === FEW) return isFaithfulBySets(text);
        if (!isNew(text, i + 1, end, first, noted)) return false;
        begins[noted] = i + 1;
        ends[noted++] = end;
        nameNext = false;
      }
      i = end;
    } else if (char === COMMA) {
      nameNext = first !== ARRAY;
    } else if (char === OPEN_BRACE || char === OPEN_BRACKET) {
      if (depth === MOST_OPEN) return isFaithfulBySets(text);
      opened[depth++] = first;
      nameNext = char === OPEN_BRACE;
      first = nameNext ? noted : ARRAY;
    } else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) {
      if (first !== ARRAY) noted = first;
      first = opened[--depth] as number;
      nameNext = false;
    }
  }
  return true;
}

/** Whether a name is in plain letters, and none of those from `first` on. */
function isNew(text: string, begin: number, end: number, first: number, noted: number): boolean {
  for (let i = begin; i < end; i++) if (text.charCodeAt(i) === BACKSLASH) return false;
  for (let known = first; known < noted; known++) {
    const start = begins[known] as number;
    if ((ends[known] as number) - start !== end - begin) continue;
    let same = 0;
    while (begin + same < end && text.charCodeAt(start + same) === text.charCodeAt(begin + same)) same++;
    if (begin + same === end) return false;
  }
  return true;
}

/** The same for texts of any depth, and objects of any length. */
function isFaithfulBySets(text: string): boolean {
  /** Names of each open object; undefined for an open array. */
  const open: (Set<string> | undefined)[] = [];
  let names: Set<string> | undefined;
  let nameNext = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) {
      const end = closingQuote(text, i);
      if (nameNext && names !== undefined) {
        const name = text.slice(i + 1, end);
        if (names.has(name) || name.includes('\\')) return false;
        names.add(name);
        nameNext = false;
      }
      i = end;
    } else if (char === COMMA) {
      nameNext = names !== undefined;
    } else if (char === OPEN_BRACE) {
      open.push(names);
      names = new Set();
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

/** Where the string that opens at `from` closes. */
function closingQuote(text: string, from: number): number {
  let end = text.indexOf('"', from + 1);
  while (end !== -1 && text.charCodeAt(end - 1) === BACKSLASH) {
    let slashes = 1;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return end === -1 ? text.length : end;
}
