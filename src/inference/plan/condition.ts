// Conditions over a call: `{"metadata.tier": "gold", "params.max_tokens": {"$gt": 1000}}`, read once and
// evaluated per call over own properties only.
import { clip, type Fault, isObject, step } from './faults.ts';

const COMPARISONS = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'] as const;
const LISTS = ['$in', '$nin'] as const;
const ROOTS = ['metadata', 'params', 'url'] as const;
const MAX_DEPTH = 16;
/** Longest name of a member. */
const MAX_NAME = 256;
/** Longest pattern, and longest text that one is tried on. */
const MAX_PATTERN = 1000;
const MAX_SUBJECT = 8192;
/** Up to here a pattern of one repetition takes at most some milliseconds, whatever the text. */
const INLINE_SUBJECT = 1024;

type Scalar = string | number | boolean | null;

/** A condition, read. */
export type Condition =
  | { readonly op: 'and' | 'or'; readonly of: readonly Condition[] }
  | { readonly op: 'not'; readonly of: Condition }
  | { readonly op: (typeof COMPARISONS)[number]; readonly field: Field; readonly value: Scalar }
  | { readonly op: (typeof LISTS)[number]; readonly field: Field; readonly value: readonly Scalar[] }
  | { readonly op: '$regex'; readonly field: Field; readonly pattern: RegExp; readonly tame: boolean };

/** A member of the call. */
export interface Field {
  readonly name: string;
  readonly root: (typeof ROOTS)[number];
  readonly path: readonly string[];
}

/** What conditions are evaluated over. */
export interface ConditionContext {
  /** The metadata header's JSON. */
  readonly metadata: () => unknown;
  /** The call's body as it came. */
  readonly params: () => unknown;
  readonly pathname: string;
  /**
   * Tries a pattern within the call's time for patterns; undefined when the time did not suffice.
   * @param steps what it takes at worst, where that is known
   */
  readonly matches: (
    pattern: RegExp,
    text: string,
    steps: number | undefined,
  ) => Promise<boolean | undefined>;
}

/** What all conditions of one config may have together, however they are spread and nested. */
export interface ConditionLimits {
  /** Tests of members. */
  tests: number;
  patterns: number;
  /** Values in lists. */
  values: number;
}

/** The limits of a config that is about to be read. */
export const conditionLimits = (): ConditionLimits => ({ tests: 500, patterns: 50, values: 5000 });

/**
 * Reads a query. Faults are added with their paths; undefined when there were any.
 * @param limits what is left to the config; what the query has is taken off
 */
export function parseCondition(
  query: unknown,
  path: string,
  faults: Fault[],
  limits: ConditionLimits = conditionLimits(),
): Condition | undefined {
  const before = faults.length;
  const condition = readQuery(query, path, faults, limits, 0);
  return faults.length > before ? undefined : condition;
}

function readQuery(
  query: unknown,
  path: string,
  faults: Fault[],
  limits: ConditionLimits,
  depth: number,
): Condition {
  const all: Condition[] = [];
  const fault = (at: string, message: string): void => void faults.push({ path: at, message });
  if (depth > MAX_DEPTH) fault(path, `must not be nested deeper than ${MAX_DEPTH} levels`);
  else if (!isObject(query)) fault(path, 'must be an object');
  else if (Object.keys(query).length === 0) fault(path, 'must not be empty: it would always hold');
  else {
    for (const [key, value] of Object.entries(query)) {
      const at = step(path, key);
      if (key === '$and' || key === '$or') {
        if (!Array.isArray(value) || value.length === 0) fault(at, 'must be an array of queries');
        else
          all.push({
            op: key === '$and' ? 'and' : 'or',
            of: value.map((one, i) => readQuery(one, step(at, i), faults, limits, depth + 1)),
          });
      } else if (key === '$not') all.push({ op: 'not', of: readQuery(value, at, faults, limits, depth + 1) });
      else if (key.startsWith('$')) fault(at, `is an unknown operator: ${clip(key)}`);
      else {
        const field = readFieldName(key, at, faults);
        if (field !== undefined) all.push(...readTests(field, value, at, faults, limits));
      }
    }
  }
  return all.length === 1 ? all[0]! : { op: 'and', of: all };
}

function readFieldName(name: string, path: string, faults: Fault[]): Field | undefined {
  if (name.length > MAX_NAME) {
    faults.push({ path: clip(path), message: `names a member with more than ${MAX_NAME} characters` });
    return undefined;
  }
  const [root, ...rest] = pathOf(name);
  const known = ROOTS.find((one) => one === root);
  if (known === undefined || rest.length === 0 || (known === 'url' && rest.join('.') !== 'pathname')) {
    faults.push({ path, message: 'must begin with metadata. or params., or be url.pathname' });
    return undefined;
  }
  return { name, root: known, path: rest };
}

function readTests(
  field: Field,
  value: unknown,
  path: string,
  faults: Fault[],
  limits: ConditionLimits,
): Condition[] {
  /** Told once, where the limit is passed. */
  const take = (name: keyof ConditionLimits, at: string, many = 1): void => {
    const left = limits[name];
    limits[name] -= many;
    if (left >= 0 && limits[name] < 0)
      faults.push({
        path: at,
        message: `is more than the ${conditionLimits()[name]} ${NOUNS[name]} of a config`,
      });
  };
  if (isScalar(value)) take('tests', path);
  if (isScalar(value)) return [{ op: '$eq', field, value }];
  const tests: Condition[] = [];
  const fault = (at: string, message: string): void => void faults.push({ path: at, message });
  if (!isObject(value) || Object.keys(value).length === 0) {
    fault(path, 'must be a value or an object of operators');
    return tests;
  }
  for (const [operator, given] of Object.entries(value)) {
    const at = step(path, operator);
    take('tests', at);
    const comparison = COMPARISONS.find((one) => one === operator);
    const list = LISTS.find((one) => one === operator);
    if (comparison !== undefined) {
      if (!isScalar(given)) fault(at, 'must be a string, a number, true, false or null');
      else if (!/^\$(eq|ne)$/.test(comparison) && Number.isNaN(numberOf(given)))
        fault(at, 'must be a number');
      else tests.push({ op: comparison, field, value: given });
    } else if (list !== undefined) {
      if (!Array.isArray(given) || !given.every(isScalar)) fault(at, 'must be an array of values');
      else {
        take('values', at, given.length);
        tests.push({ op: list, field, value: given });
      }
    } else if (operator === '$regex') {
      take('patterns', at);
      const pattern = limits.patterns < 0 ? undefined : readPattern(given);
      if (pattern === undefined) continue;
      if (typeof pattern === 'string') fault(at, pattern);
      else tests.push({ op: '$regex', field, pattern, tame: isTame(pattern.source) });
    } else fault(at, `is an unknown operator: ${clip(operator)}`);
  }
  return tests;
}

const NOUNS: Readonly<Record<keyof ConditionLimits, string>> = {
  tests: 'tests in conditions',
  patterns: 'patterns in conditions',
  values: 'values in lists of conditions',
};

function readPattern(given: unknown): RegExp | string {
  if (typeof given !== 'string') return 'must be a pattern';
  if (given.length > MAX_PATTERN) return `must have at most ${MAX_PATTERN} characters`;
  try {
    return new RegExp(given);
  } catch {
    return 'is not a pattern that can be read';
  }
}

/**
 * Whether a pattern repeats at most one single character or class, and has few ways to go on: then its time is
 * bounded by the square of the text's length.
 */
function isTame(source: string): boolean {
  const bare = source.replace(/\\[^\d]/g, 'x').replace(/\[[^\]]*\]/g, 'x');
  if (/\\|\)[*+?{]|\(\?/.test(bare)) return false;
  const repeats = bare.match(/[*+]|\{\d*,?\d*\}/g) ?? [];
  const ways = bare.match(/[?|]/g) ?? [];
  return repeats.length <= 1 && ways.length <= 6;
}

/**
 * Whether the condition holds for the call. A member that is missing fulfils `$ne` and `$nin` only. A condition whose
 * pattern could not be tried in time does not hold, nor does its opposite.
 */
export async function holds(condition: Condition, context: ConditionContext): Promise<boolean> {
  return (await judged(condition, context)) === true;
}

/** undefined: it is not known. */
async function judged(condition: Condition, context: ConditionContext): Promise<boolean | undefined> {
  switch (condition.op) {
    case 'and':
    case 'or': {
      const decisive = condition.op === 'or';
      let known = true;
      for (const one of condition.of) {
        const held = await judged(one, context);
        if (held === decisive) return decisive;
        known &&= held !== undefined;
      }
      return known ? !decisive : undefined;
    }
    case 'not': {
      const held = await judged(condition.of, context);
      return held === undefined ? undefined : !held;
    }
    case '$regex': {
      const value = fieldValue(condition.field, context);
      if (typeof value !== 'string' || value.length > MAX_SUBJECT) return false;
      const { length } = value;
      return context.matches(condition.pattern, value, condition.tame ? worstSteps(length) : undefined);
    }
    default:
      return compares(condition, fieldValue(condition.field, context));
  }
}

/** Of a tame pattern: one step for each beginning and end of a match, for each of its few ways to go on. */
function worstSteps(length: number): number | undefined {
  return length <= INLINE_SUBJECT ? 64 + 4 * length * length : undefined;
}

function compares(
  test: Extract<Condition, { readonly field: Field; readonly value: unknown }>,
  value: unknown,
): boolean {
  // What is missing is no value, so that it differs from all of them.
  if (value === undefined) return test.op === '$ne' || test.op === '$nin';
  switch (test.op) {
    case '$eq':
      return value === test.value;
    case '$ne':
      return value !== test.value;
    case '$in':
      return (Array.isArray(value) ? value : [value]).some((one) => test.value.includes(one as Scalar));
    case '$nin':
      return !(Array.isArray(value) ? value : [value]).some((one) => test.value.includes(one as Scalar));
    case '$gt':
      return numberOf(value) > numberOf(test.value);
    case '$gte':
      return numberOf(value) >= numberOf(test.value);
    case '$lt':
      return numberOf(value) < numberOf(test.value);
    case '$lte':
      return numberOf(value) <= numberOf(test.value);
  }
}

/** Segments of `a.b[0].c`. */
export function pathOf(name: string): readonly string[] {
  return name
    .replace(/\[(\d+|\*)\]/g, '.$1')
    .split('.')
    .filter((part) => part !== '');
}

/** A member of the call; undefined when it is not there. */
function fieldValue({ root, path }: Field, context: ConditionContext): unknown {
  if (root === 'url') return context.pathname;
  return memberAt(root === 'metadata' ? context.metadata() : context.params(), path);
}

/** What stands at a path, by own properties only. A member whose name has dots is found by the whole of them. */
export function memberAt(json: unknown, path: readonly string[]): unknown {
  let value = json;
  for (let i = 0; i < path.length; i++) {
    if (typeof value !== 'object' || value === null) return undefined;
    const rest = path.slice(i).join('.');
    if (Object.hasOwn(value, rest)) return (value as Record<string, unknown>)[rest];
    const name = path[i]!;
    if (!Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function isScalar(value: unknown): value is Scalar {
  return (
    value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  );
}

function numberOf(value: unknown): number {
  return typeof value === 'number'
    ? value
    : typeof value === 'string'
      ? Number.parseFloat(value)
      : Number.NaN;
}
