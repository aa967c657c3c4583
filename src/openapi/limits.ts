// buf.validate annotations as JSON Schema keywords: the same annotations that
// rpc/interceptors/validate.ts enforces.
import { type DescField, type DescMessage, hasOption } from '@bufbuild/protobuf';
import {
  type EnumRules,
  type FieldRules,
  field as fieldOption,
  Ignore,
  message as messageOption,
  type Rule,
  type StringRules,
} from '../../gen/buf/validate/validate_pb.ts';
import { optionOf } from '../lib/contract-options.ts';
import type { Schema } from './json.ts';

interface Numbers {
  readonly const?: bigint | number | undefined;
  readonly in?: readonly (bigint | number)[];
  readonly lessThan: Bound;
  readonly greaterThan: Bound;
}

interface Bound {
  readonly case: string | undefined;
  readonly value?: bigint | number | undefined;
}

/** Rule id of a double that must be a whole number: as JSON, an integer. */
const WHOLE_NUMBER = 'double.integer';

/** Rule ids of JSON objects whose members are limited. */
const OF_OBJECTS: ReadonlyMap<string, Schema> = new Map([
  ['struct.texts', pairs({ type: 'string', maxLength: 512 })],
  [
    'struct.attributes',
    pairs({ anyOf: [{ type: 'string', maxLength: 512 }, { type: 'number' }, { type: 'boolean' }] }),
  ],
]);

function pairs(values: Schema): Schema {
  return { maxProperties: 16, propertyNames: { maxLength: 64 }, additionalProperties: values };
}

/** The rules on a field; undefined when it has none that always hold. */
export function rulesOf(field: DescField): FieldRules | undefined {
  if (!hasOption(field, fieldOption)) return undefined;
  const rules = optionOf(field, fieldOption);
  return rules.ignore === Ignore.ALWAYS ? undefined : rules;
}

/** The schema with the rules' keywords added. `words` are the enum's, by number. */
export function limited(
  schema: Schema,
  rules: FieldRules | undefined,
  words?: ReadonlyMap<number, string>,
): Schema {
  if (rules === undefined) return schema;
  const limits = limitsOf(rules, words);
  const { items, values, ...own } = limits;
  const out: Schema = { ...schema };
  if (rules.cel.some((rule) => rule.id === WHOLE_NUMBER)) {
    out.type = 'integer';
    delete out.format;
  }
  for (const { id } of rules.cel) Object.assign(out, OF_OBJECTS.get(id ?? ''));
  if (items !== undefined) out.items = { ...(schema.items as Schema), ...items };
  if (values !== undefined)
    out.additionalProperties = { ...(schema.additionalProperties as Schema), ...values };
  if (rules.ignore === Ignore.IF_ZERO_VALUE && Object.keys(own).length > 0)
    return { ...out, anyOf: [{ const: schema.type === 'string' ? '' : 0 }, own] };
  return { ...out, ...own };
}

/** The CEL rules' messages: what the keywords cannot say. */
export function sentencesOf(rules: FieldRules | undefined): string[] {
  const inWords = (rules?.cel ?? []).filter(({ id = '' }) => id !== WHOLE_NUMBER && !OF_OBJECTS.has(id));
  return inWords.flatMap(textOf);
}

/** The messages of the rules over several fields of a message. */
export function messageSentencesOf(desc: DescMessage): string[] {
  if (!hasOption(desc, messageOption)) return [];
  return optionOf(desc, messageOption).cel.flatMap(textOf);
}

/** How many items the list of a union may have, where a rule over the message says so. */
export function mostItemsOf(desc: DescMessage): number | undefined {
  if (!hasOption(desc, messageOption)) return undefined;
  const rule = optionOf(desc, messageOption).cel.find(({ id }) => id?.endsWith('.max_items'));
  const most = /<= (\d+)$/.exec(rule?.expression ?? '')?.[1];
  return most === undefined ? undefined : Number(most);
}

function textOf({ message, expression }: Rule): string[] {
  return [message ?? expression ?? ''].filter((text) => text !== '');
}

interface Limits extends Schema {
  readonly items?: Schema;
  readonly values?: Schema;
}

function limitsOf({ type }: FieldRules, words?: ReadonlyMap<number, string>): Limits {
  switch (type.case) {
    case 'string':
      return stringLimits(type.value);
    case 'float':
    case 'double':
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'uint64':
      return numberLimits(type.value);
    case 'bool':
      return defined({ const: type.value.const });
    case 'enum':
      return enumLimits(type.value, words);
    case 'repeated': {
      const { minItems, maxItems, unique, items } = type.value;
      const own = {
        minItems: number(minItems),
        maxItems: number(maxItems),
        uniqueItems: unique || undefined,
      };
      return defined({ ...own, items: items && limitsOf(items, words) });
    }
    case 'map': {
      const { minPairs, maxPairs, keys, values } = type.value;
      const own = { minProperties: number(minPairs), maxProperties: number(maxPairs) };
      const names = keys && limitsOf(keys);
      return defined({ ...own, propertyNames: names, values: values && limitsOf(values, words) });
    }
    case undefined:
      return {};
  }
}

function stringLimits(rules: StringRules): Schema {
  return defined({
    const: rules.const,
    minLength: number(rules.minLen),
    maxLength: number(rules.maxLen),
    pattern: rules.pattern,
    enum: rules.in.length > 0 ? rules.in : undefined,
    format: rules.wellKnown.case === 'uuid' && rules.wellKnown.value ? 'uuid' : undefined,
  });
}

function numberLimits({ lessThan, greaterThan, in: oneOf = [], const: only }: Numbers): Schema {
  return defined({
    const: number(only),
    [greaterThan.case === 'gt' ? 'exclusiveMinimum' : 'minimum']: number(greaterThan.value),
    [lessThan.case === 'lt' ? 'exclusiveMaximum' : 'maximum']: number(lessThan.value),
    enum: oneOf.length > 0 ? oneOf.map(Number) : undefined,
  });
}

function enumLimits(rules: EnumRules, words: ReadonlyMap<number, string> | undefined): Schema {
  return rules.in.length > 0 ? { enum: rules.in.flatMap((value) => words?.get(value) ?? []) } : {};
}

function number(value: bigint | number | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function defined(limits: Schema): Schema {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}
