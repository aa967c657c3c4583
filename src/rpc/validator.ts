// The rules on the contract's fields, read once.
import { createValidator, type Validator, type ValidatorOptions } from '@bufbuild/protovalidate';

/** Messages with more parts than this are judged up to their first violation: telling all of them takes long. */
const MANY_PARTS = 1000;

/** A validator of the contract's messages. Its first use of a message type takes time; one serves a whole process. */
export function contractValidator(): Validator {
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
  return {
    ...all,
    validate: (schema, message) => (hasManyParts(message) ? first : all).validate(schema, message),
  };
}

/** Looks at no more than it takes to know. */
function hasManyParts(message: object): boolean {
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
