// gen/sluice.schema.json: what editors know of sluice.yaml, made of the calls that make its records.
import type { DescMessage } from '@bufbuild/protobuf';
import { ScalarType } from '@bufbuild/protobuf';
import type { Kind } from '../../src/admin/declared-state/kind.ts';
import { KINDS, kindName } from '../../src/admin/declared-state/kinds.ts';
import { membersOf } from '../../src/admin/declared-state/read-files.ts';
import { shapeOf, type ValueShape } from '../../src/rest/json-shape.ts';

type Schema = Record<string, unknown>;

const SECRET: Schema = {
  description: 'A secret: by the name of a variable, or by the slug of a secret reference.',
  oneOf: [
    {
      type: 'object',
      properties: { env: { type: 'string' } },
      required: ['env'],
      additionalProperties: false,
    },
    {
      type: 'object',
      properties: { reference: { type: 'string' } },
      required: ['reference'],
      additionalProperties: false,
    },
  ],
};
const OWN: Readonly<Record<string, Schema>> = {
  key: SECRET,
  slug: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,255}$', description: 'What the record is found by.' },
  workspace: { type: 'string', description: 'Slug of the workspace.' },
  integration: { type: 'string', description: 'Slug of the integration.' },
  workspaces: { type: 'array', description: 'Slugs of workspaces, or objects with id and limits.' },
  models: { type: 'array', items: { type: 'object' } },
  allow_all_models: { type: 'boolean' },
  global_workspace_access: { type: 'object' },
  is_default: { type: ['integer', 'boolean'] },
};

/** The schema as JSON text. */
export function declaredSchema(): string {
  const defs: Record<string, Schema> = {};
  const lists: Record<string, Schema> = { version: { const: 1 } };
  for (const kind of KINDS) {
    const [list = '', sub] = kindName(kind).split('/');
    const record = recordSchema(kind, sub, defs);
    const before = lists[list] as { readonly items: { readonly anyOf?: Schema[] } & Schema } | undefined;
    const items =
      before === undefined ? record : { anyOf: [...(before.items.anyOf ?? [before.items]), record] };
    lists[list] = { type: ['array', 'null'], items };
  }
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'sluice.yaml',
    type: 'object',
    required: ['version'],
    additionalProperties: false,
    properties: lists,
    $defs: Object.fromEntries(Object.entries(defs).sort(([a], [b]) => (a < b ? -1 : 1))),
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

function recordSchema(kind: Kind, sub: string | undefined, defs: Record<string, Schema>): Schema {
  const shape = shapeOf(kind.create.input);
  const fields = shape.kind === 'object' ? shape.byName : new Map();
  const properties: Record<string, Schema> = {};
  for (const name of membersOf(kind)) {
    const field = fields.get(name);
    const own =
      OWN[name] !== undefined && (name !== 'key' || kind.list === 'integrations' || kind.list === 'keys');
    properties[name] = own
      ? OWN[name]!
      : field === undefined
        ? {}
        : fieldSchema(field.many, field.value, defs);
  }
  if (sub !== undefined) properties.kind = { const: sub };
  const required = [...(sub === undefined ? [] : ['kind', 'name'])];
  return {
    type: 'object',
    properties,
    additionalProperties: false,
    ...(required.length > 0 ? { required } : {}),
  };
}

function fieldSchema(many: 'one' | 'list' | 'map', value: ValueShape, defs: Record<string, Schema>): Schema {
  const one = valueSchema(value, defs);
  if (many === 'list') return { type: 'array', items: one };
  return many === 'map' ? { type: 'object', additionalProperties: one } : one;
}

function valueSchema(value: ValueShape, defs: Record<string, Schema>): Schema {
  switch (value.kind) {
    case 'struct':
      return { type: 'object' };
    case 'enum':
      return { enum: [...value.words.keys()].slice(1) };
    case 'message':
      return messageSchema(value.desc, defs);
    case 'scalar':
      if (value.type === ScalarType.BOOL) return { type: 'boolean' };
      if (value.type === ScalarType.STRING || value.type === ScalarType.BYTES) return { type: 'string' };
      return {
        type: value.type === ScalarType.DOUBLE || value.type === ScalarType.FLOAT ? 'number' : 'integer',
      };
  }
}

function messageSchema(desc: DescMessage, defs: Record<string, Schema>): Schema {
  const name = desc.name;
  const ref = { $ref: `#/$defs/${name}` };
  if (defs[name] !== undefined) return ref;
  defs[name] = {};
  const shape = shapeOf(desc);
  if (shape.kind === 'union') defs[name] = {};
  else if (shape.kind === 'map') defs[name] = fieldSchema('map', shape.field.value, defs);
  else {
    const fields = shape.fields.filter(({ name: member }) => member !== 'clear' && member !== 'extra');
    defs[name] = {
      type: 'object',
      properties: Object.fromEntries(
        fields.map(({ name: member, many, value }) => [member, fieldSchema(many, value, defs)]),
      ),
    };
  }
  return ref;
}
