// The `cache` member of a config and the cache headers, read into settings. It imports the ground floor only:
// plans read it as well as the cache.
import { theNearest } from '../../lib/nearest-names.ts';

/** How a call uses the cache. `Target` is whatever the plan makes of the embeddings member. */
export interface CacheSettings<Target = unknown> {
  /** `simple`: the same request. `semantic`: the same request first, then one that means the same. */
  readonly mode: 'simple' | 'semantic';
  /** How old an answer may be, and for how long a new one is kept. */
  readonly maxAgeSeconds: number;
  /** Whether to go upstream whatever is kept, and to keep the new answer instead. */
  readonly forceRefresh: boolean;
  /** Takes the place of the metadata in the key; undefined: the metadata counts. */
  readonly namespace: string | undefined;
  /** Least cosine similarity of a semantic hit, above 0 and up to 1. */
  readonly threshold: number;
  /** Who makes the vectors: a target with a model. Without one, semantic mode finds what simple mode finds. */
  readonly embeddings: Target | undefined;
  /** Whether semantic hits are only reported and never given. */
  readonly shadow: boolean;
}

/** One fault of a config, for the caller. */
export interface CacheFault {
  readonly path: string;
  readonly message: string;
}

/** A week, as in the reference gateway; 90 days. */
export const DEFAULT_MAX_AGE_SECONDS = 604_800;
export const MOST_MAX_AGE_SECONDS = 7_776_000;
export const DEFAULT_THRESHOLD = 0.95;
export const NAMESPACE_LENGTH = 256;

const MEMBERS = ['mode', 'max_age', 'threshold', 'embeddings', 'shadow', 'namespace', 'force_refresh'];

/**
 * Reads a config's `cache`: `"simple"`, `"semantic"`, or an object, its members in snake_case or camelCase:
 *
 *     { "mode": "semantic", "max_age": 3600, "threshold": 0.97, "embeddings": { … }, "shadow": true }
 *
 * `max_age` is in seconds, 1 to 7776000 (90 days). Pushes a fault with its path for everything that is wrong and
 * then answers undefined.
 *
 * @param readEmbeddings makes the plan's own target of the `embeddings` object and reports its faults itself.
 */
export function parseCacheSettings<Target = unknown>(
  value: unknown,
  path: string,
  faults: CacheFault[],
  readEmbeddings: (value: object, path: string) => Target | undefined = (given) => given as Target,
): CacheSettings<Target> | undefined {
  const before = faults.length;
  const fault = (name: string, message: string): undefined => {
    faults.push({ path: name === '' ? path : `${path}.${name}`, message });
    return undefined;
  };
  const members = typeof value === 'string' ? { mode: { name: '', value } } : membersOf(value, fault);
  if (members === undefined) return undefined;
  const read = <T>(name: string, fallback: T, parse: (given: unknown) => T | string): T => {
    const member = members[name];
    if (member === undefined) return fallback;
    const parsed = parse(member.value);
    // A text is what is wrong; no member's own value is one, save those that are wrapped below.
    if (typeof parsed !== 'string') return parsed;
    fault(member.name, parsed);
    return fallback;
  };

  if (members.mode === undefined) return fault('mode', 'is required: "simple" or "semantic"');
  const [mode] = read('mode', ['simple'] as const, modeOf);
  const maxAgeSeconds = read('max_age', DEFAULT_MAX_AGE_SECONDS, maxAgeOf);
  const threshold = read('threshold', DEFAULT_THRESHOLD, thresholdOf);
  const shadow = read('shadow', false, booleanOf);
  const forceRefresh = read('force_refresh', false, booleanOf);
  const [namespace] = read<readonly [string | undefined]>('namespace', [undefined], namespaceOf);
  const given = read<object | undefined>('embeddings', undefined, objectOf);
  const embeddings = given && readEmbeddings(given, `${path}.${members.embeddings!.name}`);
  if (faults.length > before) return undefined;
  return { mode, maxAgeSeconds, forceRefresh, namespace, threshold, embeddings, shadow };
}

/** The namespace of the header cache-namespace. @returns what is wrong with it as a text, or it in a tuple. */
export function namespaceOf(value: unknown): readonly [string] | string {
  if (typeof value !== 'string' || value === '') return 'must be a string that is not empty';
  if (value.length > NAMESPACE_LENGTH) return `must have at most ${NAMESPACE_LENGTH} characters`;
  return value.isWellFormed() ? [value] : 'must be well-formed Unicode';
}

interface Member {
  /** As it was spelled. */
  readonly name: string;
  readonly value: unknown;
}

/** Members by snake_case name; null counts as not said. */
function membersOf(
  value: unknown,
  fault: (name: string, message: string) => undefined,
): Record<string, Member> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return fault('', 'must be an object, "simple" or "semantic"');
  const members: Record<string, Member> = {};
  for (const [given, member] of Object.entries(value)) {
    const name = given.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (!MEMBERS.includes(name)) fault(given, `is not known${theNearest(name, MEMBERS)}`);
    else if (members[name] !== undefined) fault(given, `is given twice: also as ${members[name].name}`);
    else if (member !== null) members[name] = { name: given, value: member };
  }
  return members;
}

function modeOf(value: unknown): readonly ['simple' | 'semantic'] | string {
  return value === 'simple' || value === 'semantic' ? [value] : 'must be "simple" or "semantic"';
}

function maxAgeOf(value: unknown): number | string {
  if (Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= MOST_MAX_AGE_SECONDS)
    return value as number;
  return `must be a whole number of seconds, 1 to ${MOST_MAX_AGE_SECONDS}`;
}

function thresholdOf(value: unknown): number | string {
  return typeof value === 'number' && value > 0 && value <= 1
    ? value
    : 'must be a number above 0 and at most 1';
}

function booleanOf(value: unknown): boolean | string {
  return typeof value === 'boolean' ? value : 'must be true or false';
}

function objectOf(value: unknown): object | string {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? value
    : 'must be an object: a target with a model';
}
