// Whether a message surely keeps all rules of the contract: a quick yes, or "ask the
// validator". The validator (protovalidate) is the judge of every refusal and of every rule
// that is not told here; it also costs as much as all other interceptors together, and
// nearly every message of every call keeps the rules.
import { type DescField, type DescMessage, hasOption, type Message } from '@bufbuild/protobuf';
import {
  type DoubleRules,
  type FieldRules,
  field as fieldOption,
  type Int32Rules,
  type Int64Rules,
  message as messageOption,
  oneof as oneofOption,
  type StringRules,
} from '../../gen/buf/validate/validate_pb.ts';
import { optionOf } from '../lib/contract-options.ts';

/** True: the message is valid. False: not known. */
export type QuickCheck = (message: Message) => boolean;

type Bag = Record<string, unknown>;
type Sure = (value: unknown) => boolean;

const never: Sure = () => false;
const always: Sure = () => true;
/** Rules of the form "unless this field is set": kept whenever the field is not. */
const UNLESS_SET = /^!has\(this\.([a-z_][a-z0-9_]*)\) \|\| /;

/** Rules of the form "one of these lists, and not both". */
const EITHER_LIST = /^\(this\.([a-z_]+)\.size\(\) > 0\) != \(this\.([a-z_]+)\.size\(\) > 0\)$/;

const checks = new WeakMap<DescMessage, Sure>();

/** The check of a message type, made once. */
export function quickCheck(desc: DescMessage): QuickCheck {
  return messageCheck(desc) as QuickCheck;
}

function messageCheck(desc: DescMessage): Sure {
  let check = checks.get(desc);
  if (check === undefined) {
    // Registered before it is built: message types may contain themselves.
    let built: Sure | undefined;
    check = (message) => {
      built ??= build(desc);
      return built(message);
    };
    checks.set(desc, check);
  }
  return check;
}

function build(desc: DescMessage): Sure {
  const parts: Sure[] = [];
  for (const rule of hasOption(desc, messageOption) ? optionOf(desc, messageOption).cel : []) {
    const { expression = '' } = rule;
    const lists = desc.fields.filter(({ name }) => EITHER_LIST.exec(expression)?.slice(1).includes(name));
    if (lists.length === 2 && lists.every(({ fieldKind }) => fieldKind === 'list')) {
      const hasSome = (message: unknown, { localName }: DescField): boolean =>
        ((message as Bag)[localName] as unknown[]).length > 0;
      parts.push((message) => hasSome(message, lists[0]!) !== hasSome(message, lists[1]!));
      continue;
    }
    const local = desc.fields.find((f) => f.name === UNLESS_SET.exec(expression)?.[1]);
    if (local === undefined || local.oneof || local.fieldKind === 'list' || local.fieldKind === 'map')
      return never;
    parts.push((message) => (message as Bag)[local.localName] === undefined);
  }
  for (const group of desc.oneofs) {
    if (hasOption(group, oneofOption) && optionOf(group, oneofOption).required) {
      parts.push((message) => ((message as Bag)[group.localName] as { case?: string }).case !== undefined);
    }
  }
  for (const field of desc.fields) {
    const check = fieldCheck(field);
    if (check !== always) parts.push((message) => check(fieldValue(message as Bag, field)));
  }
  return (message) => {
    for (const part of parts) if (!part(message)) return false;
    return true;
  };
}

function fieldValue(message: Bag, field: DescField): unknown {
  if (field.oneof === undefined) return message[field.localName];
  const group = message[field.oneof.localName] as { case?: string; value?: unknown };
  return group.case === field.localName ? group.value : undefined;
}

function fieldCheck(field: DescField): Sure {
  const rules = hasOption(field, fieldOption) ? optionOf(field, fieldOption) : undefined;
  const value =
    field.fieldKind === 'list' || field.fieldKind === 'map'
      ? manyCheck(field, rules)
      : oneCheck(field, rules);
  if (!rules?.required) return value === always ? always : (v) => v === undefined || value(v);
  if (field.fieldKind === 'list') return (v) => (v as unknown[]).length > 0 && value(v);
  // What "required" means without presence is the validator's to say.
  if (field.fieldKind === 'map' || (field.presence === 2 && field.fieldKind !== 'message')) return never;
  return (v) => v !== undefined && value(v);
}

function oneCheck(field: DescField, rules: FieldRules | undefined): Sure {
  const own = rules === undefined ? always : ownCheck(field, rules);
  if (field.fieldKind !== 'message' || field.message.typeName.startsWith('google.protobuf.')) return own;
  const inner = messageCheck(field.message);
  return own === always ? inner : (value) => own(value) && inner(value);
}

function ownCheck(field: DescField, rules: FieldRules): Sure {
  if (rules.ignore) return never;
  if (rules.cel.length === 0) return enumCheck(field, rules);
  const known = rules.cel.length === 1 ? OF_OBJECTS.get(rules.cel[0]!.id ?? '') : undefined;
  return known === undefined || rules.type.case !== undefined ? never : (value) => hasPairs(value, known);
}

/** Rules of JSON objects, by their ids: which values their members may have. */
const OF_OBJECTS: ReadonlyMap<string, Sure> = new Map([
  ['struct.texts', isShortText],
  [
    'struct.attributes',
    (value) => typeof value === 'number' || typeof value === 'boolean' || isShortText(value),
  ],
]);

function isShortText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= 512;
}

function hasPairs(value: unknown, isAllowed: Sure): boolean {
  let pairs = 0;
  for (const name in value as Bag)
    if (++pairs > 16 || name.length > 64 || !isAllowed((value as Bag)[name])) return false;
  return true;
}

function manyCheck(field: DescField & { fieldKind: 'list' | 'map' }, rules: FieldRules | undefined): Sure {
  const { message } = field;
  const inner = message && !message.typeName.startsWith('google.protobuf.') ? messageCheck(message) : always;
  if (rules === undefined) {
    if (inner === always) return always;
    return field.fieldKind === 'list' ? each(inner) : (map) => Object.values(map as Bag).every(inner);
  }
  if (rules.cel.length > 0 || rules.ignore) return never;
  const { type } = rules;
  if (type.case === undefined) return field.fieldKind === 'list' ? each(inner) : never;
  if (field.fieldKind === 'list' && type.case === 'repeated') {
    const { minItems, maxItems, unique, items } = type.value;
    if (unique || items) return (list) => (list as unknown[]).length === 0 && !minItems;
    const least = Number(minItems ?? 0n);
    const most = maxItems === undefined ? Number.POSITIVE_INFINITY : Number(maxItems);
    const all = each(inner);
    return (list) => (list as unknown[]).length >= least && (list as unknown[]).length <= most && all(list);
  }
  if (field.fieldKind === 'map' && type.case === 'map') {
    const { minPairs, maxPairs, keys, values } = type.value;
    if (minPairs || maxPairs || keys || inner !== always)
      return (map) => !minPairs && Object.keys(map as Bag).length === 0;
    const check = values && values.cel.length === 0 && !values.required ? ruleCheck(values) : never;
    return (map) => {
      for (const key in map as Bag) if (!check((map as Bag)[key])) return false;
      return true;
    };
  }
  return never;
}

function each(check: Sure): Sure {
  if (check === always) return always;
  return (list) => {
    for (const element of list as unknown[]) if (!check(element)) return false;
    return true;
  };
}

function enumCheck(field: DescField, rules: FieldRules): Sure {
  if (rules.type.case !== 'enum') return ruleCheck(rules);
  const { const: constant, in: numbers, definedOnly } = rules.type.value;
  if (constant !== undefined || numbers.length > 0 || !definedOnly || field.fieldKind !== 'enum')
    return never;
  const defined = new Set<unknown>(field.enum.values.map((value) => value.number));
  return (value) => defined.has(value);
}

function ruleCheck({ type }: FieldRules): Sure {
  switch (type.case) {
    case undefined:
      return always;
    case 'string':
      return stringCheck(type.value);
    case 'double':
    case 'int32':
    case 'int64':
      return numberCheck(type.value);
    default:
      return never;
  }
}

function numberCheck(rules: DoubleRules | Int32Rules | Int64Rules): Sure {
  if (rules.const !== undefined || ('in' in rules && rules.in.length > 0)) return never;
  const { lessThan: less, greaterThan: greater } = rules;
  // A range that is turned round means "outside of it".
  if (less.case && greater.case && less.value < greater.value) return never;
  return (value) => {
    const n = value as number;
    if (less.case === 'lt' && !(n < (less.value as number))) return false;
    if (less.case === 'lte' && !(n <= (less.value as number))) return false;
    if (greater.case === 'gt' && !(n > (greater.value as number))) return false;
    return greater.case !== 'gte' || n >= (greater.value as number);
  };
}

function stringCheck({ const: constant, minLen, maxLen, pattern, in: words, wellKnown }: StringRules): Sure {
  if (constant !== undefined || wellKnown.case) return never;
  const regex = pattern === undefined ? undefined : new RegExp(pattern, 'u');
  // Lengths are in characters: at least half of the UTF-16 units, at most all of them.
  const least = Number(minLen ?? 0n);
  const most = maxLen === undefined ? Number.POSITIVE_INFINITY : Number(maxLen);
  return (value) => {
    const text = value as string;
    if (text.length > most || (least === 1 ? text.length === 0 : text.length / 2 < least)) return false;
    if (words.length > 0 && !words.includes(text)) return false;
    return regex === undefined || regex.test(text);
  };
}
