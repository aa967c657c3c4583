// The rules that the contract puts on a field (buf.validate), in words, for values read from a config.
import { type DescField, hasOption } from '@bufbuild/protobuf';
import {
  type DoubleRules,
  type FieldRules,
  field as fieldOption,
  type Int32Rules,
} from '../../../gen/buf/validate/validate_pb.ts';
import { optionOf } from '../../lib/contract-options.ts';

/** Read once: options are kept as bytes. */
const known = new WeakMap<DescField, FieldRules | null>();

/** The rules of a field; undefined when it has none. */
export function rulesOf(field: DescField): FieldRules | undefined {
  let rules = known.get(field);
  if (rules === undefined) {
    rules = hasOption(field, fieldOption) ? optionOf(field, fieldOption) : null;
    known.set(field, rules);
  }
  return rules ?? undefined;
}

/** What a value does not keep to, in words; undefined when it keeps to all. Lists: their length only. */
export function brokenRule(rules: FieldRules | undefined, value: unknown): string | undefined {
  if (rules === undefined || value === undefined) return undefined;
  const { type } = rules;
  switch (type.case) {
    case 'double':
    case 'int32':
      return brokenRange(type.value, value as number);
    case 'string':
      return (
        brokenChoice(type.value.in, value as string) ??
        brokenLength('characters', type.value.minLen, type.value.maxLen, [...(value as string)].length)
      );
    case 'repeated':
      return brokenLength(
        'elements',
        type.value.minItems,
        type.value.maxItems,
        (value as readonly unknown[]).length,
      );
    default:
      return undefined;
  }
}

/** The rules of a list's elements. */
export function elementRules(rules: FieldRules | undefined): FieldRules | undefined {
  return rules?.type.case === 'repeated' ? rules.type.value.items : undefined;
}

function brokenRange({ greaterThan, lessThan }: DoubleRules | Int32Rules, value: number): string | undefined {
  const low = greaterThan.value as number | undefined;
  const high = lessThan.value as number | undefined;
  const tooLow =
    low !== undefined &&
    (greaterThan.case === 'gt' ? !(value > low) : greaterThan.case ? !(value >= low) : false);
  const tooHigh =
    high !== undefined &&
    (lessThan.case === 'lt' ? !(value < high) : lessThan.case ? !(value <= high) : false);
  if (!tooLow && !tooHigh) return undefined;
  const from = low === undefined ? '' : greaterThan.case === 'gt' ? `above ${low}` : `at least ${low}`;
  const to = high === undefined ? '' : lessThan.case === 'lt' ? `below ${high}` : `at most ${high}`;
  return `must be ${[from, to].filter((part) => part !== '').join(' and ')}`;
}

function brokenChoice(words: readonly string[], value: string): string | undefined {
  return words.length === 0 || words.includes(value) ? undefined : `must be one of ${words.join(', ')}`;
}

function brokenLength(
  what: string,
  min: bigint | undefined,
  max: bigint | undefined,
  length: number,
): string | undefined {
  if (min !== undefined && length < Number(min))
    return min === 1n ? 'must not be empty' : `must have at least ${min} ${what}`;
  if (max !== undefined && length > Number(max)) return `must have at most ${max} ${what}`;
  return undefined;
}
