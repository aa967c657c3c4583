// Any message of a type, most of them within the contract's rules, which are read off the descriptors.
import {
  create,
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  type Message,
  ScalarType,
} from '@bufbuild/protobuf';
import {
  type FieldRules,
  FieldRulesSchema,
  field as fieldOption,
} from '../../../gen/buf/validate/validate_pb.ts';
import { SECURITY_CATEGORIES, SECURITY_SETTINGS } from '../../../src/access/security-settings.ts';
import type { Dice } from './dice.ts';
import { anyText, type Words } from './words.ts';

/** Where a message's parts are thrown. */
export interface Throw {
  readonly dice: Dice;
  readonly words: Words;
  /** Values beyond the rules, too. */
  readonly wild: boolean;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const NO_RULES = create(FieldRulesSchema);
const DEPTH = 4;

/** Any message of a type. */
export function anyMessage(on: Throw, desc: DescMessage, depth = DEPTH): Message {
  const message = create(desc) as Message & Record<string, unknown>;
  const { dice } = on;
  for (const field of desc.fields) {
    if (field.oneof === undefined && dice.chance(likelihood(field)))
      message[field.localName] = anyField(on, field, depth);
  }
  for (const group of desc.oneofs) {
    if (dice.chance(on.wild ? 0.2 : 0.02)) continue;
    const field = dice.pick(group.fields);
    message[group.localName] = { case: field.localName, value: anyField(on, field, depth) };
  }
  return message;
}

/** What rules ask for is mostly there, what they do not is there now and then. */
function likelihood(field: DescField): number {
  const rules = rulesOf(field);
  if (rules.required || least(rules) > 0) return field.presence === 1 && !rules.required ? 0.25 : 0.98;
  if (field.name === 'force_delete') return 0.8;
  if (field.name === 'jwks' || field.name.startsWith('extra')) return 0.05;
  return field.presence === 1 ? 0.22 : field.fieldKind === 'scalar' ? 0.7 : 0.3;
}

/** The least size of a text, list or map. */
function least({ type }: FieldRules): number {
  if (type.case === 'string')
    return Number(type.value.minLen) || (type.value.in.length > 0 || type.value.pattern !== '' ? 1 : 0);
  return type.case === 'repeated' ? Number(type.value.minItems) : 0;
}

function rulesOf(field: DescField): FieldRules {
  return hasOption(field, fieldOption) ? getOption(field, fieldOption) : NO_RULES;
}

function anyField(on: Throw, field: DescField, depth: number): unknown {
  const rules = rulesOf(field);
  const { dice } = on;
  if (field.fieldKind === 'list') {
    const { type } = rules;
    const items = type.case === 'repeated' ? (type.value.items ?? NO_RULES) : NO_RULES;
    const most = type.case === 'repeated' ? Number(type.value.maxItems) || 3 : 3;
    const length = Math.min(most, Math.max(least(rules), 1 + dice.below(3)));
    const list = Array.from({ length }, () => anyValue(on, field, items, depth));
    return type.case === 'repeated' && type.value.unique && !on.wild ? [...new Set(list)] : list;
  }
  if (field.fieldKind === 'map') {
    const values = rules.type.case === 'map' ? (rules.type.value.values ?? NO_RULES) : NO_RULES;
    const names = field.name === 'security_settings' ? SECURITY_SETTINGS : ['team', 'a', 'b c', '50'];
    return Object.fromEntries(
      dice
        .some(on.wild ? [...names, 'nothing'] : names, 0.2)
        .map((name) => [name, anyValue(on, field, values, depth)]),
    );
  }
  return anyValue(on, field, rules, depth);
}

function anyValue(on: Throw, field: DescField, rules: FieldRules, depth: number): unknown {
  const { dice } = on;
  if (field.message) {
    if (field.message.typeName === 'google.protobuf.Struct')
      return dice.pick([{}, { a: 1 }, { q: ['x', null] }]);
    return depth === 0 ? create(field.message) : anyMessage(on, field.message, depth - 1);
  }
  if (field.enum) {
    const { type } = rules;
    const known =
      type.case === 'enum' && type.value.in.length > 0
        ? type.value.in
        : field.enum.values.map((v) => v.number);
    return on.wild && dice.chance(0.2) ? 7 : dice.pick(known.filter((n) => n !== 0 || known.length === 1));
  }
  switch (field.scalar) {
    case ScalarType.STRING:
      return textFor(on, field, rules);
    case ScalarType.BOOL:
      return dice.chance(0.5);
    case ScalarType.BYTES:
      return Buffer.from(dice.pick(['', '{}', '{"model":"gpt-ok"}']));
    case ScalarType.INT64:
      return BigInt(Math.trunc(numberFor(on, rules)));
    case ScalarType.INT32:
      return Math.trunc(Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, numberFor(on, rules))));
    default:
      return numberFor(on, rules);
  }
}

/** A text within the rules, where one is found. */
function textFor(on: Throw, field: DescField, { type }: FieldRules): string {
  const { dice, words, wild } = on;
  const rules = type.case === 'string' ? type.value : undefined;
  if (rules && rules.in.length > 0 && !(wild && dice.chance(0.3))) return dice.pick(rules.in);
  if (field.parent.name === 'WorkspaceOverrideList' && !wild) return dice.pick(SECURITY_CATEGORIES);
  const pattern = rules?.pattern ? new RegExp(rules.pattern, 'u') : undefined;
  let text = '';
  for (let attempt = 0; attempt < 12; attempt++) {
    text = anyText(dice, words, field, wild && dice.chance(0.4));
    if (wild) return text;
    if (rules?.maxLen) text = text.slice(0, Number(rules.maxLen));
    if (rules?.wellKnown.case === 'uuid' && !UUID.test(text)) continue;
    if (text.length >= Number(rules?.minLen ?? 0) && (pattern?.test(text) ?? true)) return text;
  }
  return text;
}

function numberFor({ dice, wild }: Throw, { type }: FieldRules): number {
  if (wild && dice.chance(0.3)) return dice.pick([-1, 0, 2 ** 31 - 1, 1e15, -(2 ** 53), 0.5]);
  const bounds = type.value as
    | { lessThan?: { value?: unknown }; greaterThan?: { value?: unknown } }
    | undefined;
  const from = Number(bounds?.greaterThan?.value ?? 0);
  const to = Number(bounds?.lessThan?.value ?? from + 100);
  const exact = type.case === 'double' && dice.chance(0.3);
  const roll = dice.next();
  // Pages and the like are mostly small.
  const value =
    roll < 0.15 ? from : roll < 0.25 ? to : from + dice.next() * Math.min(to - from, dice.pick([3, 50, 1e5]));
  return exact ? value : Math.round(value);
}
