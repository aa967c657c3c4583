// Parameters of a check, declared field by field: reading, bounds, defaults and faults follow from the declaration.
import type { JsonObject } from '../view/traffic.ts';

/** Notes a fault under its path. */
export type Fault = (path: string, message: string) => void;

/** One parameter. */
export interface Field<T> {
  readonly required: boolean;
  /** Taken when the parameter is absent or null. */
  readonly fallback: T;
  /** Holds a credential: never shown, logged or stored in clear. */
  readonly secret: boolean;
  /** Other spellings, in addition to snake case. */
  readonly aliases: readonly string[];
  /** The value, or undefined after its faults were noted. */
  read(value: unknown, path: string, fault: Fault): T | undefined;
}

/** The parameters of a check by name, in camel case; snake case is read as well. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

/** What a check's `run` is given. */
export type Parameters<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never;
};

/** A path's next step. */
export function step(path: string, name: string | number): string {
  if (typeof name === 'number') return `${path}[${name}]`;
  return path === '' ? name : `${path}.${name}`;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads all parameters; undefined when there was a fault. Names that no field has are faults: a typo turns a check round. */
export function readParameters<F extends Fields>(
  fields: F,
  value: JsonObject,
  path: string,
  fault: Fault,
): Parameters<F> | undefined {
  let sound = true;
  const note: Fault = (at, message) => {
    sound = false;
    fault(at, message);
  };
  const names = namesOf(fields);
  const found = new Map<string, { readonly as: string; readonly value: unknown }>();
  for (const [as, member] of Object.entries(value)) {
    const name = names.get(as);
    if (name === undefined) note(step(path, as), `is not known here; known are ${list(fields)}`);
    else if (found.has(name)) note(step(path, as), `says the same as ${found.get(name)?.as}`);
    else found.set(name, { as, value: member });
  }
  const read: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const member = found.get(name);
    if (member === undefined || member.value === undefined || member.value === null) {
      if (field.required) note(step(path, name), 'is required');
      read[name] = field.fallback;
    } else {
      read[name] = field.read(member.value, step(path, member.as), note);
    }
  }
  return sound ? (read as Parameters<F>) : undefined;
}

/** Whether a key is one of the fields, in any of its spellings. */
export function takes(fields: Fields, key: string): boolean {
  return namesOf(fields).has(key);
}

const spellings = new WeakMap<Fields, Map<string, string>>();

/** Every accepted spelling, and the field that it means. */
function namesOf(fields: Fields): Map<string, string> {
  const known = spellings.get(fields);
  if (known !== undefined) return known;
  const names = new Map<string, string>();
  spellings.set(fields, names);
  for (const [name, { aliases }] of Object.entries(fields)) {
    for (const spelling of [name, ...aliases]) names.set(spelling, name).set(snake(spelling), name);
  }
  return names;
}

/** camelCase, also with capitals in a row (`webhookURL`), as snake_case. */
export function snake(name: string): string {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}

function list(fields: Fields): string {
  return Object.keys(fields).join(', ') || 'none';
}
