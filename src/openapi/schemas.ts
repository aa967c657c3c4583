// Messages as component schemas, in the JSON form that rest/json-shape.ts describes.
import type { DescEnum, DescField, DescMessage } from '@bufbuild/protobuf';
import { ScalarType } from '@bufbuild/protobuf';
import { Unset } from '../../gen/gateway/options/v2/options_pb.ts';
import { bareListOf, type FieldShape, shapeOf, type ValueShape, type Variant } from '../rest/json-shape.ts';
import { WORKSPACE_FIELD } from '../rest/named-workspace.ts';
import { commentOf, paragraphs } from './comments.ts';
import { described, orNull, type Schema, sorted } from './json.ts';
import { limited, messageSentencesOf, mostItemsOf, rulesOf, sentencesOf } from './limits.ts';
import type { Roles } from './roles.ts';
import { workspaceSchema } from './workspace.ts';

/** The component schemas that operations refer to, made on first use. */
export class Schemas {
  readonly #roles: Roles;
  readonly #components = new Map<string, Schema>();
  readonly #owners = new Map<string, string>();

  constructor(roles: Roles) {
    this.#roles = roles;
  }

  /** All components, by name. */
  get components(): { [name: string]: Schema } {
    return sorted(this.#components);
  }

  /** A reference to a message's component. */
  ref(desc: DescMessage): Schema {
    return this.#component(desc, () => this.#messageSchema(desc));
  }

  /** A field's schema with its limits, and its description. */
  member(field: DescField, shape: FieldShape): { readonly schema: Schema; readonly description: string } {
    const rules = rulesOf(field);
    const words = shape.value.kind === 'enum' ? shape.value.names : undefined;
    const chosen = rules?.type.case === 'enum' && rules.type.value.in.length > 0;
    const value = chosen ? { type: 'string' } : this.#value(field, shape.value);
    const schema = limited(many(shape, value, field), rules, words);
    const description = paragraphs(commentOf(field), ...sentencesOf(rules).map((text) => `Rule: ${text}.`));
    return { schema: field.deprecated ? { ...schema, deprecated: true } : schema, description };
  }

  #messageSchema(desc: DescMessage): Schema {
    const shape = shapeOf(desc);
    const rules = messageSentencesOf(desc).map((text) => `Rule: ${text}.`);
    const description = paragraphs(commentOf(desc), ...rules);
    if (shape.kind === 'union') {
      const most = mostItemsOf(desc);
      const [first, ...others] = shape.variants.map((variant) => {
        const schema = this.#variant(desc, variant);
        return most !== undefined && schema.type === 'array' ? { ...schema, maxItems: most } : schema;
      });
      return described(others.length === 0 ? first! : { anyOf: [first!, ...others] }, description);
    }
    if (shape.kind === 'map') {
      const { schema, description: more } = this.member(fieldOf(desc, shape.field.local), shape.field);
      return described(schema, paragraphs(description, more));
    }
    const properties: { [name: string]: Schema } = {};
    const required: string[] = [];
    for (const field of shape.fields) {
      const own = fieldOf(desc, field.local);
      if (this.#roles.inPath(own)) continue;
      const member = this.member(own, field);
      // In an update, null removes a member.
      const nullable = field.unset === Unset.NULL || shape.cleared !== undefined;
      const schema = nullable ? orNull(member.schema) : member.schema;
      properties[field.name] = described(schema, member.description);
      if (this.#roles.required(own)) required.push(field.name);
    }
    if (this.#roles.takesWorkspace(desc)) properties[WORKSPACE_FIELD] = orNull(workspaceSchema());
    const schema: Schema = described({ type: 'object' }, description);
    schema.properties = properties;
    if (required.length > 0) schema.required = required;
    if (shape.extra !== undefined) schema.additionalProperties = true;
    else if (this.#roles.isInput(desc)) schema.additionalProperties = false;
    return schema;
  }

  #variant(desc: DescMessage, variant: Variant): Schema {
    const field = fieldOf(desc, variant.local);
    if (variant.list === undefined || field.message === undefined)
      return limited(this.#value(field, variant.value), rulesOf(field));
    return this.#bareList(field.message, variant.list);
  }

  /** A wrapper message as the bare array that it is written as. */
  #bareList(wrapper: DescMessage, list: FieldShape): Schema {
    const field = fieldOf(wrapper, list.local);
    const inner = field.message && bareListOf(field.message);
    const items =
      field.message && inner ? this.#bareList(field.message, inner) : this.#value(field, list.value);
    return limited({ type: 'array', items }, rulesOf(field));
  }

  #value(field: DescField, shape: ValueShape): Schema {
    switch (shape.kind) {
      case 'message':
        return this.ref(shape.desc);
      case 'struct':
        return { type: 'object', additionalProperties: true };
      case 'enum':
        return this.#enumRef(field, shape.names);
      case 'scalar':
        return scalarSchema(shape.type);
    }
  }

  #enumRef(field: DescField, words: ReadonlyMap<number, string>): Schema {
    const { enum: desc } = field;
    return desc ? this.#component(desc, () => enumSchema(desc, words)) : { type: 'string' };
  }

  #component(desc: DescMessage | DescEnum, build: () => Schema): Schema {
    const name = this.#nameOf(desc);
    if (!this.#components.has(name)) {
      // Placed before it is built: messages may contain themselves.
      this.#components.set(name, {});
      this.#components.set(name, build());
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #nameOf(desc: DescMessage | DescEnum): string {
    const name = desc.typeName.slice(desc.file.proto.package.length + 1);
    const owner = this.#owners.get(name) ?? desc.typeName;
    this.#owners.set(name, owner);
    // Two packages may have a type of the same name: the later one is named in full.
    return owner === desc.typeName ? name : desc.typeName;
  }
}

function many(shape: FieldShape, value: Schema, field: DescField): Schema {
  if (shape.many === 'list') return { type: 'array', items: value };
  if (shape.many !== 'map') return value;
  const whole = field.fieldKind === 'map' && field.mapKey !== ScalarType.STRING;
  return {
    type: 'object',
    ...(whole ? { propertyNames: { pattern: '^-?[0-9]+$' } } : {}),
    additionalProperties: value,
  };
}

function enumSchema(desc: DescEnum, words: ReadonlyMap<number, string>): Schema {
  // Zero stands for an absent member and is never read as a word.
  const values = desc.values.filter((value) => value.number !== 0);
  const wordOf = (number: number): string => words.get(number) ?? '';
  const list = values.map((value) => `- \`${wordOf(value.number)}\`: ${commentOf(value)}`).join('\n');
  const wordList = values.some((value) => commentOf(value) !== '') ? list : '';
  const schema = { type: 'string', enum: values.map((value) => wordOf(value.number)) };
  return described(schema, paragraphs(commentOf(desc), wordList));
}

function scalarSchema(type: ScalarType): Schema {
  switch (type) {
    case ScalarType.STRING:
      return { type: 'string' };
    case ScalarType.BOOL:
      return { type: 'boolean' };
    case ScalarType.BYTES:
      return { type: 'string', contentEncoding: 'base64' };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return { type: 'number', format: 'double' };
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return { type: 'integer', format: 'int64' };
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { type: 'integer', format: 'int64', minimum: 0 };
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { type: 'integer', format: 'int64', minimum: 0, maximum: 4294967295 };
    default:
      return { type: 'integer', format: 'int32' };
  }
}

function fieldOf(desc: DescMessage, local: string): DescField {
  const field = desc.fields.find((candidate) => candidate.localName === local);
  if (field === undefined) throw new Error(`${desc.typeName} has no field ${local}`);
  return field;
}
