// Texts of a form as the JSON object that the codec reads: `a[b]` is a member of a member, `a[]` an item of a list.
import type { DescMessage } from '@bufbuild/protobuf';
import { invalidField } from '../lib/errors.ts';
import { type FieldShape, shapeOf } from './json-shape.ts';
import { valueOfText } from './query.ts';

type Json = Record<string, unknown>;

/** One text of a form. */
export interface FormText {
  readonly name: string;
  readonly value: string;
}

const NAME = /^([^[\]]+)((?:\[[^[\]]*\])*)$/;
const MAX_DEPTH = 8;

/**
 * Members that the message names are of its types; others are texts, several of one name a list.
 * @throws GatewayError validation_failed for a member that is given twice, or whose name cannot be read
 */
export function formJson(desc: DescMessage, texts: readonly FormText[]): Json {
  const json: Json = Object.create(null);
  for (const { name, value } of texts) put(json, desc, name, value);
  return json;
}

function put(json: Json, desc: DescMessage, name: string, value: string): void {
  const [, first, rest = ''] = NAME.exec(name) ?? [];
  const steps = rest === '' ? [] : rest.slice(1, -1).split('][');
  if (first === undefined || steps.length > MAX_DEPTH)
    throw invalidField(name, 'is no name of a form’s member');
  let at = json;
  let within: DescMessage | undefined = desc;
  let step = first;
  for (const next of steps) {
    if (next === '') break;
    const field = fieldOf(within, step);
    within = field?.value.kind === 'message' ? field.value.desc : undefined;
    const inner = at[step] ?? Object.create(null);
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner))
      throw invalidField(name, 'is given as a text, too; give it once');
    at[step] = inner;
    at = inner as Json;
    step = next;
  }
  const field = fieldOf(within, step);
  const isList = field === undefined ? steps.at(-1) === '' : field.many === 'list';
  const read = field === undefined ? value : read1(field, value);
  const known = at[step];
  if (isList || (field === undefined && known !== undefined))
    at[step] = [
      ...(Array.isArray(known) ? known : known === undefined ? [] : [known]),
      ...(Array.isArray(read) && isList ? read : [read]),
    ];
  else if (known !== undefined) throw invalidField(name, 'must be given once');
  else at[step] = read;
}

/** A message, a map or a list may be written as JSON. */
function read1(field: FieldShape, text: string): unknown {
  const isWhole = field.value.kind === 'message' || field.value.kind === 'struct' || field.many === 'map';
  if (!isWhole && !(field.many === 'list' && text.startsWith('['))) return valueOfText(field, text);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function fieldOf(desc: DescMessage | undefined, name: string): FieldShape | undefined {
  const shape = desc && shapeOf(desc);
  return shape?.kind === 'object' ? shape.byName.get(name) : undefined;
}
