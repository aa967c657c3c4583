// A config's JSON read by its schema (config.proto): member by member, in snake_case or camelCase, and on past
// every fault, so that all of them are told at once.

import { create, type DescField, type DescMessage, type Message, ScalarType } from '@bufbuild/protobuf';
import { type RoutingConfig, RoutingConfigSchema } from '../../../gen/gateway/inference/v2/config_pb.ts';
import { type FieldShape, shapeOf, type ValueShape } from '../../rest/json-shape.ts';
import { clip, type Fault, isObject, snake, step } from './faults.ts';
import { brokenRule, elementRules, rulesOf } from './field-rules.ts';
import { notKnown } from './not-known.ts';

/** Levels of targets within targets at the most. */
export const MAX_LEVELS = 32;

/** One level of a config. */
export interface ConfigLevel {
  /** Its members, without the levels below and without those that others read. */
  readonly config: RoutingConfig;
  /** As it was given, for those who read the members of their own (cache, guardrails). */
  readonly json: Readonly<Record<string, unknown>>;
  readonly path: string;
  /** Undefined when there is no member `targets`. */
  readonly targets: readonly ConfigLevel[] | undefined;
  /** What the schema does not name, by its name in snake_case. */
  readonly options: readonly Option[];
}

export interface Option {
  readonly name: string;
  readonly path: string;
  readonly value: unknown;
}

/** Members that other files read: the schema only says that they are there. */
const READ_ELSEWHERE = new Set([
  'targets',
  'cache',
  'before_request_hooks',
  'after_request_hooks',
  'input_guardrails',
  'output_guardrails',
  'input_mutators',
  'output_mutators',
  'default_input_guardrails',
  'default_output_guardrails',
]);

/** Spellings that others use. */
const ALIASES: ReadonlyMap<string, string> = new Map([['use_retry_after_headers', 'use_retry_after_header']]);

type Bag = Record<string, unknown>;

/** Reads one level and those below. Faults are added; what is faulty counts as not said. */
export function readConfig(json: unknown, path: string, faults: Fault[], depth = 0): ConfigLevel {
  const options: Option[] = [];
  const given = isObject(json) ? json : {};
  const config = readMessage(RoutingConfigSchema, json, path, faults, options) as RoutingConfig;
  return { config, json: given, path, targets: readTargets(given, path, faults, depth), options };
}

function readTargets(
  json: Readonly<Record<string, unknown>>,
  path: string,
  faults: Fault[],
  depth: number,
): readonly ConfigLevel[] | undefined {
  const { targets } = json;
  if (targets === undefined || targets === null) return undefined;
  const at = step(path, 'targets');
  const field = RoutingConfigSchema.field.targets;
  const message = !Array.isArray(targets)
    ? 'must be an array of targets'
    : depth >= MAX_LEVELS
      ? `must not be nested deeper than ${MAX_LEVELS} levels`
      : brokenRule(rulesOf(field), targets);
  if (message !== undefined) {
    faults.push({ path: at, message });
    return [];
  }
  return (targets as unknown[]).map((target, i) => readConfig(target, step(at, i), faults, depth + 1));
}

/** Of one object. */
const MOST_MEMBERS = 1000;

function readMessage(
  desc: DescMessage,
  json: unknown,
  path: string,
  faults: Fault[],
  options?: Option[],
): Message {
  const message = create(desc);
  if (!isObject(json)) {
    faults.push({ path: path || 'config', message: 'must be an object' });
    return message;
  }
  const shape = shapeOf(desc);
  if (shape.kind !== 'object') return message;
  const seen = new Map<string, string>();
  const members = Object.entries(json);
  if (members.length > MOST_MEMBERS) {
    faults.push({ path: path || 'config', message: `has more than ${MOST_MEMBERS} members` });
    return message;
  }
  for (const [given, value] of members) {
    if (value === null || value === undefined) continue;
    const plain = snake(given);
    const name = ALIASES.get(plain) ?? plain;
    const at = step(path, given);
    const field = shape.byName.get(name);
    const twin = seen.get(name);
    seen.set(name, given);
    if (twin !== undefined) faults.push({ path: at, message: `says the same as ${clip(twin)}` });
    else if (field === undefined) {
      if (options === undefined)
        faults.push({ path: at, message: notKnown(name, () => shape.byName.keys(), faults) });
      else options.push({ name, path: at, value });
    } else if (options === undefined || !READ_ELSEWHERE.has(name)) {
      const read = readField(fieldOf(desc, field), field, value, at, faults);
      if (read !== undefined) (message as unknown as Bag)[field.local] = read;
    }
  }
  for (const field of desc.fields) {
    if (rulesOf(field)?.required && !seen.has(field.name))
      faults.push({ path: step(path, field.name), message: 'is required' });
  }
  return message;
}

function fieldOf(desc: DescMessage, { local }: FieldShape): DescField {
  return desc.field[local]!;
}

function readField(
  desc: DescField,
  field: FieldShape,
  value: unknown,
  path: string,
  faults: Fault[],
): unknown {
  const rules = rulesOf(desc);
  if (field.many !== 'list') {
    const read = readValue(field.value, value, path, faults);
    return kept(read, brokenRule(rules, read), path, faults);
  }
  if (!Array.isArray(value)) {
    faults.push({ path, message: 'must be an array' });
    return undefined;
  }
  const before = faults.length;
  const inner = elementRules(rules);
  const elements = value.map((element, i) => {
    const at = step(path, i);
    const read = readValue(field.value, element, at, faults);
    return kept(read, brokenRule(inner, read), at, faults);
  });
  const sound = kept(elements, brokenRule(rules, value), path, faults);
  return faults.length === before ? sound : undefined;
}

function kept(read: unknown, broken: string | undefined, path: string, faults: Fault[]): unknown {
  if (read === undefined || broken === undefined) return read;
  faults.push({ path, message: broken });
  return undefined;
}

function readValue(shape: ValueShape, value: unknown, path: string, faults: Fault[]): unknown {
  const wrong = (message: string): undefined => void faults.push({ path, message });
  switch (shape.kind) {
    case 'message':
      return readMessage(shape.desc, value, path, faults);
    case 'struct':
      return isObject(value) ? value : wrong('must be an object');
    case 'enum': {
      const word = typeof value === 'string' ? value.replaceAll('-', '_') : '';
      const number = shape.words.get(word);
      if (number !== undefined && number !== 0) return number;
      return wrong(`must be one of ${[...shape.words.keys()].slice(1).join(', ')}`);
    }
    case 'scalar':
      return readScalar(shape.type, value) ?? wrong(`must be ${inWords(shape.type)}`);
  }
}

function readScalar(type: ScalarType, value: unknown): unknown {
  switch (type) {
    case ScalarType.STRING:
      return typeof value === 'string' && value.isWellFormed() ? value : undefined;
    case ScalarType.BOOL:
      return typeof value === 'boolean' ? value : undefined;
    case ScalarType.DOUBLE:
      return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
    default:
      return Number.isSafeInteger(value) ? value : undefined;
  }
}

function inWords(type: ScalarType): string {
  if (type === ScalarType.STRING) return 'a string';
  if (type === ScalarType.BOOL) return 'true or false';
  return type === ScalarType.DOUBLE ? 'a number' : 'a whole number';
}
