// Query parameters and path variables -> the JSON object that the codec reads.

import type { DescMessage } from '@bufbuild/protobuf';
import { ScalarType } from '@bufbuild/protobuf';
import { invalidField, type Violation, validationFailed } from '../lib/errors.ts';
import { theNearest } from '../lib/nearest-names.ts';
import { type FieldShape, shapeOf } from './json-shape.ts';
import { decodeSegment } from './path-template.ts';

type Json = Record<string, unknown>;

/**
 * The parameters of a query as JSON members. A name may be written in snake_case
 * or camelCase; a list is a repeated parameter, with or without brackets after its name.
 * @throws GatewayError validation_failed for an unknown, repeated or unreadable parameter.
 */
export function readQuery(desc: DescMessage, query: string): Json {
  const out: Json = {};
  const violations: Violation[] = [];
  for (const [name, text] of new URLSearchParams(query)) {
    const field = fieldOf(desc, name) ?? bracketed(desc, name);
    if (field === undefined && keepsUnknown(desc)) {
      const known = out[name];
      out[name] = known === undefined ? text : [known, text].flat();
    } else if (field === undefined) {
      violations.push({
        field: name,
        rule: 'unknown',
        message: `is not a parameter of this operation${nearParameters(desc, name, violations.length)}`,
      });
    } else if (field.many === 'list') {
      out[field.name] = [...((out[field.name] as unknown[] | undefined) ?? []), valueOfText(field, text)];
    } else if (Object.hasOwn(out, field.name)) {
      violations.push({ field: name, rule: 'repeated', message: 'must be given once' });
    } else {
      out[field.name] = valueOfText(field, text);
    }
  }
  if (violations.length > 0) throw validationFailed(violations);
  return out;
}

/** Puts the path's raw variables into the JSON object. @throws GatewayError validation_failed for malformed percent-encoding. */
export function bindPath(desc: DescMessage, json: Json, values: ReadonlyMap<string, string>): Json {
  for (const [name, raw] of values) {
    const text = decodeSegment(raw);
    if (text === undefined) throw invalidField(name, 'is not valid percent-encoding');
    const field = fieldOf(desc, name);
    if (field) json[field.name] = valueOfText(field, text);
  }
  return json;
}

/** Whether members that a message does not name go on to a provider. */
function keepsUnknown(desc: DescMessage): boolean {
  const shape = shapeOf(desc);
  return shape.kind === 'object' && shape.extra !== undefined;
}

function fieldOf(desc: DescMessage, name: string): FieldShape | undefined {
  const shape = shapeOf(desc);
  if (shape.kind !== 'object') return undefined;
  return shape.byName.get(name) ?? shape.fields.find((field) => field.local === name);
}

/** A list's name with brackets, as OpenAI's clients write it: `include[]=a`. */
function bracketed(desc: DescMessage, name: string): FieldShape | undefined {
  const field = name.endsWith('[]') ? fieldOf(desc, name.slice(0, -2)) : undefined;
  return field?.many === 'list' ? field : undefined;
}

/** A parameter's text as the JSON value its field asks for; text that does not fit stays text, and the codec refuses it. */
export function valueOfText(field: FieldShape, text: string): unknown {
  if (field.value.kind !== 'scalar') return text;
  switch (field.value.type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return text;
    case ScalarType.BOOL:
      // Python writes its own truth values into queries.
      return /^[Tt]rue$/.test(text) ? true : /^[Ff]alse$/.test(text) ? false : text;
    default:
      return /^-?\d{1,16}(\.\d{1,16})?$/.test(text) ? Number(text) : text;
  }
}

/** Only the first ones are compared: it takes time. */
function nearParameters(desc: DescMessage, name: string, faults: number): string {
  const shape = shapeOf(desc);
  return faults > 4 || shape.kind !== 'object' ? '' : theNearest(name, shape.byName.keys());
}
