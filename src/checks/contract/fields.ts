// The kinds of parameters that checks declare.
import type { JsonObject } from '../view/traffic.ts';
import {
  type Fault,
  type Field,
  type Fields,
  isObject,
  type Parameters,
  readParameters,
  step,
} from './parameters.ts';

type Read<T> = Field<T>['read'];

const optional = <T>(read: Read<T>): Field<T | undefined> => ({
  required: false,
  fallback: undefined,
  secret: false,
  aliases: [],
  read,
});

/** The same field, which must be there. */
export function required<T>(field: Field<T | undefined>): Field<T> {
  return { ...field, required: true } as Field<T>;
}

/** The same field with a value for when it is absent. */
export function defaulted<T>(field: Field<T | undefined>, fallback: T): Field<T> {
  return { ...field, fallback } as Field<T>;
}

/** The same field, holding a credential. */
export function secret<T>(field: Field<T>): Field<T> {
  return { ...field, secret: true };
}

/** The same field under further names. */
export function alias<T>(field: Field<T>, ...aliases: readonly string[]): Field<T> {
  return { ...field, aliases };
}

/** A text of `min` to `max` characters. */
export function text(max: number, min = 1): Field<string | undefined> {
  return optional((value, path, fault) => {
    if (typeof value !== 'string') return bad(fault, path, 'must be a text');
    if (value.length < min)
      return bad(fault, path, min === 1 ? 'must not be empty' : `has at least ${min} characters`);
    return value.length > max ? bad(fault, path, `has at most ${max} characters`) : value;
  });
}

/** True or false, false when absent. */
export function flag(fallback = false): Field<boolean> {
  return defaulted(maybeFlag(), fallback);
}

/** True, false or absent. */
export function maybeFlag(): Field<boolean | undefined> {
  return optional((value, path, fault) =>
    typeof value === 'boolean' ? value : bad(fault, path, 'must be true or false'),
  );
}

/** A whole number within bounds. Digits in a text are read too: the published forms send them so. */
export function count(min: number, max: number): Field<number | undefined> {
  return optional((value, path, fault) => {
    const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
    const fits = typeof number === 'number' && Number.isSafeInteger(number) && number >= min && number <= max;
    return fits ? number : bad(fault, path, `must be a whole number from ${min} to ${max}`);
  });
}

/** One of a few words. */
export function oneOf<const W extends string>(words: readonly W[]): Field<W | undefined> {
  return optional((value, path, fault) => {
    const found = words.find((word) => word === value);
    return found ?? bad(fault, path, `must be one of ${words.join(', ')}`);
  });
}

/** Texts, `least` at the least; a text alone, also with commas, stands for a list where `commas` says so. */
export function texts(
  options: { least?: number; most?: number; commas?: boolean } = {},
): Field<readonly string[] | undefined> {
  const { least = 1, most = 1000, commas = false } = options;
  return optional((value, path, fault) => {
    const items = typeof value === 'string' && commas ? split(value) : value;
    if (!Array.isArray(items)) return bad(fault, path, 'must be a list of texts');
    if (items.length < least)
      return bad(fault, path, least === 1 ? 'must not be empty' : `has at least ${least} items`);
    if (items.length > most) return bad(fault, path, `has at most ${most} items`);
    const wrong = items.findIndex((item) => typeof item !== 'string' || item === '' || item.length > 10_000);
    if (wrong !== -1) return bad(fault, step(path, wrong), 'must be a text of 1 to 10000 characters');
    return items as string[];
  });
}

function split(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** Any JSON object, at most so many characters when written. */
export function object(max = 262_144): Field<JsonObject | undefined> {
  return optional((value, path, fault) => {
    // The published forms hold objects as JSON text.
    const parsed = typeof value === 'string' ? parse(value) : value;
    if (!isObject(parsed)) return bad(fault, path, 'must be an object');
    return lengthOf(parsed) > max ? bad(fault, path, `has at most ${max} characters as JSON`) : parsed;
  });
}

/** Characters of JSON; of one that is nested without end, more than any bound. */
function lengthOf(value: object): number {
  try {
    return JSON.stringify(value).length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function parse(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/** A list whose items are all read by one field. */
export function listOf<T>(field: Field<T>, least = 1, most = 200): Field<readonly T[] | undefined> {
  return optional((value, path, fault) => {
    if (!Array.isArray(value)) return bad(fault, path, 'must be a list');
    if (value.length < least || value.length > most) return bad(fault, path, `has ${least} to ${most} items`);
    const read = value.map((item: unknown, index) => field.read(item, step(path, index), fault));
    return read.some((item) => item === undefined) ? undefined : (read as T[]);
  });
}

/** An object whose values are all read by one field. */
export function mapOf<T>(field: Field<T>, most = 200): Field<Readonly<Record<string, T>> | undefined> {
  return optional((value, path, fault) => {
    if (!isObject(value)) return bad(fault, path, 'must be an object');
    const entries = Object.entries(value);
    if (entries.length > most) return bad(fault, path, `has at most ${most} members`);
    const read = entries.map(
      ([name, member]) => [name, field.read(member, step(path, name), fault)] as const,
    );
    if (read.some(([, member]) => member === undefined)) return undefined;
    // Defined and not assigned: a member may be called __proto__.
    return Object.fromEntries(read) as Record<string, T>;
  });
}

/** An object with fields of its own. */
export function group<F extends Fields>(fields: F): Field<Parameters<F> | undefined> {
  return optional((value, path, fault) =>
    isObject(value) ? readParameters(fields, value, path, fault) : bad(fault, path, 'must be an object'),
  );
}

/** Whatever JSON there is. */
export function anything(): Field<unknown> {
  return optional((value) => value);
}

function bad(fault: Fault, path: string, message: string): undefined {
  fault(path, message);
  return undefined;
}
