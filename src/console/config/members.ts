// What a config may have at each place, as its descriptor says: names of members, and words of those that take a few.
import { type DescField, type DescMessage, getOption, hasOption } from '@bufbuild/protobuf';
import { field as rulesOption } from '../../../gen/buf/validate/validate_pb.ts';
import { RoutingConfigSchema } from '../../../gen/gateway/inference/v2/config_pb.ts';
import type { Step } from './json-place.ts';

/** A member: its name, what it takes in short, and its words where it takes no others. */
export interface Member {
  readonly name: string;
  readonly takes: string;
  readonly words: readonly string[];
}

/** Free-form members: the provider's own. */
const EXTRA = 'extra';

/** The message at a path of a config; undefined: the config's descriptor does not say what is there. */
export function messageAt(path: readonly Step[]): DescMessage | undefined {
  let message: DescMessage | undefined = RoutingConfigSchema;
  for (const step of path) {
    // An element of a list is what the list is of.
    if (typeof step === 'number') continue;
    message = messageOf(fieldNamed(message, step));
    if (message === undefined) return undefined;
  }
  return message;
}

/** The members of the object at a path. */
export function membersAt(path: readonly Step[]): readonly Member[] {
  const message = messageAt(path);
  if (message === undefined || message.typeName.startsWith('google.protobuf.')) return [];
  return message.fields
    .filter((field) => field.name !== EXTRA && field.oneof === undefined)
    .map((field) => ({ name: field.name, takes: takesOf(field), words: wordsOf(field) }));
}

/** The words that the value at a path may be. */
export function wordsAt(path: readonly Step[]): readonly string[] {
  const steps = path.filter((step): step is string => typeof step === 'string');
  const name = steps.at(-1);
  const field = fieldNamed(messageAt(steps.slice(0, -1)), name ?? '');
  return field === undefined ? [] : wordsOf(field);
}

function fieldNamed(message: DescMessage | undefined, name: string): DescField | undefined {
  return message?.fields.find((field) => field.name === name || field.jsonName === name);
}

function messageOf(field: DescField | undefined): DescMessage | undefined {
  return field !== undefined && 'message' in field ? field.message : undefined;
}

function wordsOf(field: DescField): readonly string[] {
  const known = 'enum' in field ? field.enum : undefined;
  if (known !== undefined)
    return known.values
      .filter(({ number }) => number !== 0)
      .map(({ name }) => name.slice(known.sharedPrefix?.length ?? 0).toLowerCase());
  if ('scalar' in field && field.scalar === SCALAR_BOOL) return ['true', 'false'];
  if (!hasOption(field, rulesOption)) return [];
  const { type } = getOption(field, rulesOption);
  return type.case === 'string' ? type.value.in : [];
}

/** ScalarType.BOOL of descriptors. */
const SCALAR_BOOL = 8;

function takesOf(field: DescField): string {
  const list = field.fieldKind === 'list' ? 'list of ' : '';
  const message = messageOf(field);
  if (message !== undefined) {
    const isFree = message.typeName.startsWith('google.protobuf.');
    return `${list}${isFree || message.name.startsWith('Routing') ? 'object' : message.name}`;
  }
  if ('enum' in field && field.enum !== undefined) return `${list}word`;
  return list + ('scalar' in field ? (SCALARS.get(Number(field.scalar)) ?? 'number') : 'value');
}

const SCALARS = new Map([
  [SCALAR_BOOL, 'true or false'],
  [9, 'text'],
]);
