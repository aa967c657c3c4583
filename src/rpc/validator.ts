// The rules on the contract's fields, read once.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { create, type DescMessage, type DescService } from '@bufbuild/protobuf';
import { createValidator, type Validator, type ValidatorOptions } from '@bufbuild/protovalidate';

/** Messages with more parts than this are judged up to their first violation: telling all of them takes long. */
const MANY_PARTS = 1000;

/** A validator whose first use of a message type compiles its rules. */
export interface ContractValidator extends Validator {
  /** Whether `warm` has ended. */
  readonly isWarm: boolean;
  /** Compiles the rules of all requests of these services, each message type in a turn of the event loop of its own. */
  warm(services: readonly DescService[]): Promise<void>;
}

/** A validator of the contract's messages; one serves a whole process. */
export function contractValidator(): ContractValidator {
  const patterns = new Map<string, RegExp>();
  const options: ValidatorOptions = {
    // The patterns are the contract's own, linear ones; the default engine costs microseconds a header.
    regexMatch: (pattern, against) => {
      let regex = patterns.get(pattern);
      if (regex === undefined) {
        regex = new RegExp(pattern, 'u');
        patterns.set(pattern, regex);
      }
      return regex.test(against);
    },
  };
  const all = createValidator(options);
  const first = createValidator({ ...options, failFast: true });
  let isWarm = false;
  return {
    ...all,
    validate: (schema, message) =>
      (hasManyParts(message) ? first : all).validate(schema, withTextsCut(message) as typeof message),
    get isWarm() {
      return isWarm;
    },
    async warm(services) {
      for (const desc of requestTypes(services)) {
        for (const validator of [all, first]) {
          validator.validate(desc, create(desc));
          await nextTurn();
        }
      }
      isWarm = true;
    },
  };
}

/**
 * Counting the characters of a text takes 10 ms a megabyte. Longer texts are judged by their beginning: it is longer than
 * the contract's largest max_len, and rules without one are told by it too (min_len, lists of words, short patterns).
 */
export const JUDGED_CHARS = 1_048_576;

/** The same value, or a copy in which no text is longer than `JUDGED_CHARS`. */
function withTextsCut(value: unknown): unknown {
  if (typeof value === 'string') return value.length > JUDGED_CHARS ? value.slice(0, JUDGED_CHARS) : value;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  let copy: Record<string, unknown> | undefined;
  for (const [name, member] of Object.entries(value)) {
    const cut = withTextsCut(member);
    if (cut === member) continue;
    copy ??= Array.isArray(value)
      ? ([...value] as unknown as Record<string, unknown>)
      : Object.defineProperties(
          Object.create(Object.getPrototypeOf(value)) as Record<string, unknown>,
          Object.getOwnPropertyDescriptors(value),
        );
    copy[name] = cut;
  }
  return copy ?? value;
}

/** The message types of all requests, those with few fields first: together they compile what all types share. */
function requestTypes(services: readonly DescService[]): DescMessage[] {
  const types = new Set<DescMessage>();
  const add = (desc: DescMessage): void => {
    if (types.has(desc) || desc.typeName.startsWith('google.protobuf.')) return;
    types.add(desc);
    for (const { message } of desc.fields) if (message) add(message);
  };
  for (const { methods } of services) for (const { input } of methods) add(input);
  return [...types].sort((one, other) => one.fields.length - other.fields.length);
}

/** Whether judging a message takes long. Looks at no more than it takes to know. */
export function hasManyParts(message: object): boolean {
  const open: object[] = [message];
  let parts = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (ArrayBuffer.isView(next)) continue;
    const values: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    parts += values.length;
    if (parts > MANY_PARTS) return true;
    for (const value of values) if (typeof value === 'object' && value !== null) open.push(value);
  }
  return false;
}
