// What names stand for: the variables, and within sections the values that these are about. Own members only: a name
// never reaches a prototype. A variable is text; where a section or a dotted name looks into it, text that is JSON
// is read as such.
import { invalidField } from '../../lib/errors.ts';
import type { Path } from './nodes.ts';

const MAX_DEPTH = 64;
/** Of a variable that is read as JSON, in UTF-16 units. */
const MAX_JSON = 2 * 1024 * 1024;

/** The values that names are looked up in, the innermost last. */
export class Scopes {
  readonly #stack: unknown[];
  readonly #read = new Map<string, unknown>();

  constructor(variables: Readonly<Record<string, unknown>>) {
    this.#stack = [variables];
  }

  get depth(): number {
    return this.#stack.length;
  }

  /** Undefined: nothing has that name. */
  find(path: Path): unknown {
    const [first, ...rest] = path;
    if (first === undefined) return this.#stack.length === 1 ? undefined : this.#stack.at(-1);
    for (let i = this.#stack.length - 1; i >= 0; i--) {
      const value = member(this.#stack[i], first);
      if (value !== undefined)
        return rest.reduce<unknown>((inner, part) => member(this.structured(inner), part), value);
    }
    return undefined;
  }

  /** The value as sections see it: JSON where its text is an object, a list, true, false or null. */
  structured(value: unknown): unknown {
    if (typeof value !== 'string') return value;
    const known = this.#read.get(value);
    if (known !== undefined) return known;
    const read = readJson(value);
    this.#read.set(value, read);
    return read;
  }

  /** Runs `inside` with one more value to look names up in. */
  within(value: unknown, inside: () => void): void {
    this.#stack.push(value);
    inside();
    this.#stack.pop();
  }
}

/** The text that stands for a value. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  if (Array.isArray(value) && !/^\d{1,9}$/.test(name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function readJson(text: string): unknown {
  const trimmed = text.trim();
  if (!/^(?:[[{]|true$|false$|null$)/.test(trimmed)) return text;
  if (trimmed.length > MAX_JSON)
    throw invalidField('variables', `one that is read as JSON has at most ${MAX_JSON} characters`, 'max_len');
  let read: unknown;
  try {
    read = JSON.parse(trimmed);
  } catch {
    return text;
  }
  if (!shallow(read, MAX_DEPTH))
    throw invalidField('variables', `must not be nested deeper than ${MAX_DEPTH} levels`, 'depth');
  return read;
}

function shallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => shallow(inner, depth - 1));
}
