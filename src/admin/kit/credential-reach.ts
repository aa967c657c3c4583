// Where a credential within JSON goes: the addresses beside it, below it, and on the levels above, which hand theirs down.
// It was given for these, and goes nowhere else without being given again.
import { allOptions } from '../../providers/catalog/known-options.ts';
import type { Json, JsonObject } from '../../store/collection.ts';

/** The object that a credential belongs to; `headers` and `credentials` are parts of the object that holds them. */
export interface Place {
  readonly json: JsonObject;
  readonly above?: Place;
}

const MASK = '******';
/** Names, in snake case, that say where calls go. */
const ADDRESS = /(?:host|url|uri|endpoint|domain|resource_name)$/;
/** Names of options that do, and of those that say whose credential it is. */
const NAMED: ReadonlySet<string> = new Set([
  'provider',
  'virtual_key',
  ...allOptions.filter(({ effect }) => effect === 'address').map(({ name }) => name),
]);
/** Different addresses about one credential: with more, it has to be given again. */
const MOST = 100;

/** The first and last characters of a text that is long enough. */
export function maskOf(text: string): string {
  return text.length < 16 ? MASK : `${text.slice(0, 3)}${MASK}${text.slice(-4)}`;
}

/** A member's name in snake case. */
export function snakeOf(name: string): string {
  if (/^[a-z0-9_]*$/.test(name)) return name;
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
}

/** All members that hold a URL or are named like one. */
export function addressesIn(json: JsonObject): Set<string> {
  const found = new Set<string>();
  const visit = (value: Json, name: string): void => {
    if (typeof value === 'string') {
      if (isUrl(value, snakeOf(name))) found.add(value);
    } else if (Array.isArray(value)) for (const item of value as Json[]) visit(item, name);
    else if (typeof value === 'object' && value !== null)
      for (const [key, item] of Object.entries(value as JsonObject)) visit(item, key);
  };
  visit(json, '');
  return found;
}

type Addresses = ReadonlySet<string>;

const NONE: Addresses = new Set();

/** Where one credential was. */
interface Known {
  readonly sets: Set<Addresses>;
  /** What was found out about other places. */
  readonly same: Map<Addresses, boolean>;
}

/** The addresses of credentials, before a change and after it. */
export class CredentialReach {
  readonly #known = new Map<string, Known>();
  readonly #places = new Map<JsonObject, Addresses | undefined>();
  readonly #objects = new Map<JsonObject, Addresses>();
  /** Each set once: most places have the same addresses. */
  readonly #sets = new Map<string, Addresses>();

  /** Notes that the credential is at this place. */
  known(credential: string, place: Place): void {
    const { sets } = this.#known.get(credential) ?? this.#first(credential);
    const addresses = this.#at(place);
    if (addresses !== undefined && sets.size < MOST) sets.add(addresses);
  }

  /** Whether the place has no address that the credential did not have before. */
  isSame(credential: string, place: Place): boolean {
    const { sets, same } = this.#known.get(credential) ?? this.#first(credential);
    const now = this.#at(place);
    if (now === undefined) return false;
    const found = same.get(now) ?? [...sets].some((set) => isWithin(now, set));
    same.set(now, found);
    return found;
  }

  #first(credential: string): Known {
    const first = { sets: new Set<Addresses>(), same: new Map<Addresses, boolean>() };
    this.#known.set(credential, first);
    return first;
  }

  /** Undefined: they are too many. */
  #at({ json, above }: Place): Addresses | undefined {
    if (this.#places.has(json)) return this.#places.get(json);
    const found = new Set(this.#below(json));
    for (let level = above; level !== undefined && found.size <= MOST; level = level.above)
      for (const [name, value] of Object.entries(level.json))
        if (typeof value === 'string' && isAddress(value, name)) found.add(value);
    const all = found.size > MOST ? undefined : this.#once(found);
    this.#places.set(json, all);
    return all;
  }

  /** Of an object and all that is in it; each object is read once. */
  #below(json: JsonObject): Addresses {
    const read = this.#objects.get(json);
    if (read !== undefined) return read;
    const found = new Set<string>();
    const add = (value: Json, name: string): void => {
      if (found.size > MOST) return;
      if (typeof value === 'string') {
        if (isAddress(value, name)) found.add(value);
      } else if (Array.isArray(value)) for (const item of value as Json[]) add(item, name);
      else if (typeof value === 'object' && value !== null)
        for (const address of this.#below(value as JsonObject)) found.add(address);
    };
    for (const [name, value] of Object.entries(json)) add(value, name);
    const all = found.size === 0 ? NONE : found;
    this.#objects.set(json, all);
    return all;
  }

  #once(found: Addresses): Addresses {
    const key = JSON.stringify([...found].sort());
    const known = this.#sets.get(key) ?? found;
    this.#sets.set(key, known);
    return known;
  }
}

/** A masked address counts as the one that it stands for. */
function isWithin(now: Addresses, known: Addresses): boolean {
  return [...now].every(
    (address) =>
      known.has(address) || (address.includes(MASK) && [...known].some((one) => maskOf(one) === address)),
  );
}

function isAddress(text: string, name: string): boolean {
  const snake = snakeOf(name);
  return isUrl(text, snake) || NAMED.has(snake);
}

function isUrl(text: string, snake: string): boolean {
  return /^https?:/i.test(text) || ADDRESS.test(snake);
}
