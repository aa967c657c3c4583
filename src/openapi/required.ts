// Which members a request must have, and which an answer always has.
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence as Presence } from '@bufbuild/protobuf/wkt';
import type { FieldRules } from '../../gen/buf/validate/validate_pb.ts';
import { Unset, unset } from '../../gen/gateway/options/v2/options_pb.ts';
import { optionOf } from '../lib/contract-options.ts';
import type { Schema } from './json.ts';
import { limited, rulesOf } from './limits.ts';

/** Whether validation refuses a request without the field. */
export function mustBeGiven(field: DescField): boolean {
  const rules = rulesOf(field);
  if (rules === undefined) return false;
  if (rules.required) return true;
  if (field.presence === Presence.EXPLICIT || rules.ignore !== undefined) return false;
  return refusesEmpty(rules);
}

/** Whether rest/encode.ts writes the field in every answer. */
export function alwaysWritten(field: DescField): boolean {
  if (optionOf(field, unset) !== Unset.UNSPECIFIED) return true;
  const single = field.fieldKind === 'scalar' || field.fieldKind === 'enum';
  return single && field.oneof === undefined && field.presence === Presence.IMPLICIT;
}

/** The messages of a type's fields, transitively, itself included. */
export function reach(types: Iterable<DescMessage>): Set<DescMessage> {
  const found = new Set<DescMessage>();
  const visit = (desc: DescMessage): void => {
    if (found.has(desc)) return;
    found.add(desc);
    for (const field of desc.fields) if (field.message) visit(field.message);
  };
  for (const type of types) visit(type);
  return found;
}

/** Whether the empty value, which an absent member without presence becomes, breaks a rule. */
function refusesEmpty(rules: FieldRules): boolean {
  const limits = limited({}, rules);
  switch (rules.type.case) {
    case 'string':
      return (
        atLeastOne(limits.minLength) || refuses(limits, '') || limits.format !== undefined || misses(limits)
      );
    case 'repeated':
      return atLeastOne(limits.minItems);
    case 'map':
      return atLeastOne(limits.minProperties);
    case 'enum':
      return rules.type.value.in.length > 0 && !rules.type.value.in.includes(0);
    case undefined:
    case 'bool':
      return false;
    default:
      return refuses(limits, 0) || !within(limits);
  }
}

function atLeastOne(bound: unknown): boolean {
  return typeof bound === 'number' && bound > 0;
}

function refuses({ enum: words, const: only }: Schema, empty: string | number): boolean {
  return (Array.isArray(words) && !words.includes(empty)) || (only !== undefined && only !== empty);
}

function misses({ pattern }: Schema): boolean {
  return typeof pattern === 'string' && !new RegExp(pattern, 'u').test('');
}

function within(limits: Schema): boolean {
  const {
    minimum = 0,
    maximum = 0,
    exclusiveMinimum = -1,
    exclusiveMaximum = 1,
  } = limits as Record<string, number>;
  return minimum <= 0 && maximum >= 0 && exclusiveMinimum < 0 && exclusiveMaximum > 0;
}
