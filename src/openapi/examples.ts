// Examples of bodies, made from their schemas: members by values that are known for their names, where the schema takes
// them. What a schema cannot say (a rule over several members) is given by hand in example-bodies.ts.
import { BODIES } from './example-bodies.ts';
import { NAMED } from './example-values.ts';
import type { Json, Schema } from './json.ts';

/** Which members an example shows: a request only what it needs, an answer all. */
export type Side = 'request' | 'answer';

/** Messages within each other, and no further. */
const DEEPEST = 5;

/** Makes examples of the component schemas of one document. */
export class Examples {
  readonly #components: Readonly<Record<string, Schema>>;

  constructor(components: Readonly<Record<string, Schema>>) {
    this.#components = components;
  }

  /** A value that the schema takes. */
  of(schema: Schema, side: Side): unknown {
    return this.#value(schema, '', { side, path: [] });
  }

  #value(schema: Schema, name: string, at: Place): unknown {
    const ref = componentOf(schema);
    if (ref !== undefined) {
      if (ref in BODIES) return BODIES[ref];
      return this.#value(this.#components[ref] ?? {}, name, { ...at, path: [...at.path, ref] });
    }
    for (const known of NAMED[name] ?? []) if (takes(schema, known)) return known;
    if ('const' in schema) return schema.const;
    if (Array.isArray(schema.enum)) return schema.enum[0];
    if (Array.isArray(schema.allOf)) {
      const parts = schema.allOf as readonly Schema[];
      return Object.assign({}, ...parts.map((part) => this.#value(part, name, at)));
    }
    if (Array.isArray(schema.anyOf)) return this.#choice(schema, name, at);
    const [type] = [schema.type].flat();
    if (type === 'object') return this.#object(schema, at);
    if (type === 'array') return this.#list(schema, name, at);
    return scalarOf(schema, type);
  }

  /** Of several forms the first that is not null; one that the members around it narrow keeps their type. */
  #choice({ anyOf, ...around }: Schema, name: string, at: Place): unknown {
    const forms = anyOf as readonly Schema[];
    const form = forms.find((one) => one.type !== 'null' && !('const' in one)) ?? forms[0] ?? {};
    return this.#value({ ...around, ...form }, name, at);
  }

  #list(schema: Schema, name: string, at: Place): unknown[] {
    const items = (schema.items ?? {}) as Schema;
    const least = Number(schema.minItems ?? 0);
    if (least === 0 && this.#tooDeep(items, at)) return [];
    return [this.#value(items, name.replace(/s$/, ''), at)];
  }

  #object(schema: Schema, at: Place): Json {
    const properties = (schema.properties ?? {}) as { readonly [name: string]: Schema };
    const required = (schema.required ?? []) as readonly string[];
    const shown = Object.keys(properties).filter(
      (name) => required.includes(name) || this.#shows(name, properties, at),
    );
    const [first] = Object.keys(properties);
    const needsOne =
      at.side === 'request' && at.path.length === 1 && shown.length === 0 && first !== undefined;
    return Object.fromEntries(
      (needsOne ? [PREFERRED.find((name) => name in properties) ?? first] : shown).map((name) => [
        name,
        this.#value(properties[name] ?? {}, name, at),
      ]),
    );
  }

  #shows(name: string, properties: { readonly [name: string]: Schema }, at: Place): boolean {
    if (at.side === 'request') return false;
    return !this.#tooDeep(properties[name] ?? {}, at);
  }

  /** Messages that contain themselves, and those far below, are left out. */
  #tooDeep(schema: Schema, at: Place): boolean {
    const ref = componentOf(schema) ?? componentOf((schema.items ?? {}) as Schema);
    return ref !== undefined && (at.path.includes(ref) || at.path.length >= DEEPEST);
  }
}

interface Place {
  readonly side: Side;
  /** The components around the value. */
  readonly path: readonly string[];
}

/** Of a change without required members, the one that is shown. */
const PREFERRED = ['name', 'description', 'value', 'role', 'status'];

function componentOf(schema: Schema): string | undefined {
  return typeof schema.$ref === 'string' ? schema.$ref.replace(/^.*\//, '') : undefined;
}

/** Whether a schema takes a scalar, or a list of scalars, that is known for a name. */
function takes(schema: Schema, value: unknown): boolean {
  if (Array.isArray(schema.anyOf)) {
    const { anyOf, ...around } = schema;
    return (anyOf as readonly Schema[]).some(
      (form) => componentOf(form) === undefined && takes({ ...around, ...form }, value),
    );
  }
  if (Array.isArray(value))
    return schema.type === 'array' && value.every((item) => takes((schema.items ?? {}) as Schema, item));
  if ('const' in schema && schema.const !== value) return false;
  if (Array.isArray(schema.enum) && !schema.enum.includes(value)) return false;
  const types = [schema.type].flat();
  if (typeof value === 'string') return types.includes('string') && takesText(schema, value);
  if (typeof value === 'boolean') return types.includes('boolean');
  if (typeof value === 'number')
    return (
      (types.includes('number') || (types.includes('integer') && Number.isInteger(value))) &&
      inRange(schema, value)
    );
  return false;
}

function takesText(
  { pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY, format }: Schema,
  value: string,
): boolean {
  if (format === 'uuid' && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)) return false;
  if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(value)) return false;
  return value.length >= Number(minLength) && value.length <= Number(maxLength);
}

function inRange(schema: Schema, value: number): boolean {
  const { minimum = value, maximum = value, exclusiveMinimum, exclusiveMaximum } = schema;
  return (
    value >= Number(minimum) &&
    value <= Number(maximum) &&
    (exclusiveMinimum === undefined || value > Number(exclusiveMinimum)) &&
    (exclusiveMaximum === undefined || value < Number(exclusiveMaximum))
  );
}

function scalarOf(schema: Schema, type: unknown): unknown {
  if (type === 'string') return textOf(schema);
  if (type === 'boolean') return false;
  if (type === 'integer' || type === 'number')
    return [0, 1, 2, 10, 60, 1000].find((value) => inRange(schema, value));
  if (type === 'null') return null;
  return {};
}

const TEXTS = ['example', 'api_key', 'https://example.com', '3c90c3cc-0d44-4b50-8888-8dd25736052a', ''];

function textOf(schema: Schema): string {
  const { minLength = 0 } = schema;
  return TEXTS.find((value) => takesText(schema, value)) ?? 'example-'.padEnd(Number(minLength), 'x');
}
