// A function call whose arguments come in pieces (Gemini API, "Streaming function call arguments"): each piece says where
// it belongs (`jsonPath`: "$.a.b[0]") and what stands there; texts are continued while `willContinue` says so.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject } from '../../json-object.ts';

/** What a path may have at the most: steps, and elements of a list. */
const MOST_STEPS = 64;
const MOST_ELEMENTS = 10_000;
const STEP = /\.([A-Za-z_$][\w$-]*)|\[(\d{1,5})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/gy;

/** Puts the pieces of one call together. */
export class PartialArguments {
  readonly #root: JsonObject = {};
  /** The path whose text is continued. */
  #open: string | undefined;

  /** Takes the `partialArgs` of one part; pieces that cannot be placed are left out. */
  push(pieces: JsonValue | undefined): void {
    for (const piece of arrayOf(pieces)) if (isObject(piece)) this.#place(piece);
  }

  /** The arguments so far. */
  get value(): JsonObject {
    return this.#root;
  }

  #place(piece: JsonObject): void {
    const path = typeof piece.jsonPath === 'string' ? piece.jsonPath : '';
    const steps = stepsOf(path);
    const value = pieceValue(piece);
    if (steps === undefined || value === undefined) return;
    set(this.#root, steps, (before) =>
      this.#open === path && typeof before === 'string' && typeof value === 'string' ? before + value : value,
    );
    this.#open = piece.willContinue === true ? path : undefined;
  }
}

function pieceValue(piece: JsonObject): JsonValue | undefined {
  if (typeof piece.stringValue === 'string') return piece.stringValue;
  if (typeof piece.numberValue === 'number') return piece.numberValue;
  if (typeof piece.boolValue === 'boolean') return piece.boolValue;
  return 'nullValue' in piece ? null : undefined;
}

/** Names and indices; undefined for what is no path, or one that is too long. */
function stepsOf(path: string): (string | number)[] | undefined {
  if (!path.startsWith('$') || path.length > 4096) return undefined;
  const steps: (string | number)[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < path.length) {
    const found = STEP.exec(path);
    if (found === null || steps.length === MOST_STEPS) return undefined;
    const [, name, index, single, double] = found;
    steps.push(index === undefined ? ((name ?? single ?? double) as string) : Number(index));
  }
  return steps.length === 0 ? undefined : steps;
}

function set(
  root: JsonObject,
  steps: readonly (string | number)[],
  next: (before: JsonValue | undefined) => JsonValue,
): void {
  let at: JsonValue = root;
  for (const [i, step] of steps.entries()) {
    const holder: Record<string | number, JsonValue> | undefined = holderOf(at, step);
    if (holder === undefined) return;
    const before = Object.hasOwn(holder, step) ? holder[step] : undefined;
    if (i === steps.length - 1) {
      define(holder, step, next(before));
      return;
    }
    if (typeof before !== 'object' || before === null)
      define(holder, step, typeof steps[i + 1] === 'number' ? [] : {});
    at = holder[step] as JsonValue;
  }
}

function holderOf(value: JsonValue, step: string | number): Record<string | number, JsonValue> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value) !== (typeof step === 'number')) return undefined;
  if (typeof step === 'number' && step >= MOST_ELEMENTS) return undefined;
  return value as Record<string | number, JsonValue>;
}

/** Defined, not assigned: a member may be named `__proto__`. */
function define(holder: object, name: string | number, value: JsonValue): void {
  Object.defineProperty(holder, name, { value, writable: true, enumerable: true, configurable: true });
}
