// JSON Schemas that users write: their outline is judged at once, without compiling; the rest is found in the sandbox.
import { type Fault, isObject, step } from './parameters.ts';
import { requirePattern } from './pattern.ts';

const DEEPEST = 60;
const DRAFTS = /^https?:\/\/json-schema\.org\/(draft\/(2020-12|2019-09)|draft-0[67])\/schema#?$/;
const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

/** Keywords that hold a schema, schemas by name, and lists of schemas. */
const ONE =
  'items additionalItems additionalProperties not if then else contains propertyNames unevaluatedItems unevaluatedProperties contentSchema'.split(
    ' ',
  );
const BY_NAME = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'];

interface Place {
  readonly schema: unknown;
  readonly path: string;
}

/** Notes faults: an unknown draft, keywords of the wrong kind, references to schemas that are not inside, too deep a nest. */
export function requireSchema(schema: object, path: string, fault: Fault): void {
  if (isTooDeep(schema)) {
    fault(path, `is nested more than ${DEEPEST} deep`);
    return;
  }
  const draft = '$schema' in schema ? schema.$schema : undefined;
  if (draft !== undefined && !(typeof draft === 'string' && DRAFTS.test(draft))) {
    fault(step(path, '$schema'), 'must name JSON Schema 2020-12, 2019-09, draft-07 or draft-06');
  }
  const ids = new Set<string>();
  const references: Place[] = [];
  const open: Place[] = [{ schema, path }];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (typeof place.schema === 'boolean') continue;
    if (!isObject(place.schema)) {
      fault(place.path, 'must be a schema: an object, true or false');
      continue;
    }
    const { schema: own, path: at } = place;
    if (typeof own.$id === 'string') ids.add(own.$id);
    for (const name of REFERENCES)
      if (Object.hasOwn(own, name)) references.push({ schema: own[name], path: step(at, name) });
    requireKeywords(own, at, fault);
    open.push(...schemasIn(own, at, fault));
  }
  for (const { schema: reference, path: at } of references) {
    if (typeof reference !== 'string') fault(at, 'must be a text');
    else if (isOutside(reference, ids)) {
      fault(at, `refers to ${JSON.stringify(reference.slice(0, 200))}: schemas elsewhere are not fetched`);
    }
  }
}

function requireKeywords(own: Readonly<Record<string, unknown>>, path: string, fault: Fault): void {
  const { type, pattern, required, enum: values, patternProperties } = own;
  if (type !== undefined) {
    const types: readonly unknown[] = Array.isArray(type) ? type : [type];
    if (types.some((one) => !TYPES.includes(String(one))))
      fault(step(path, 'type'), `must be one of ${TYPES.join(', ')}`);
  }
  if (pattern !== undefined) requireSource(pattern, step(path, 'pattern'), fault);
  for (const source of isObject(patternProperties) ? Object.keys(patternProperties) : []) {
    requireSource(source, step(path, 'patternProperties'), fault);
  }
  if (values !== undefined && !Array.isArray(values)) fault(step(path, 'enum'), 'must be a list');
  const names = Array.isArray(required) && required.every((name) => typeof name === 'string');
  if (required !== undefined && !names) fault(step(path, 'required'), 'must be a list of texts');
}

function requireSource(source: unknown, path: string, fault: Fault): void {
  if (typeof source === 'string') requirePattern({ source, flags: 'u' }, path, fault);
  else fault(path, 'must be a text');
}

function schemasIn(own: Readonly<Record<string, unknown>>, path: string, fault: Fault): Place[] {
  const found: Place[] = [];
  const list = (name: string, items: readonly unknown[]) =>
    items.forEach((schema, index) => {
      found.push({ schema, path: step(step(path, name), index) });
    });
  for (const name of ONE) {
    const value = own[name];
    // Drafts before 2020-12 have lists in `items`.
    if (Array.isArray(value)) list(name, value);
    else if (value !== undefined) found.push({ schema: value, path: step(path, name) });
  }
  for (const name of BY_NAME) {
    const value = own[name];
    if (value !== undefined && !isObject(value)) fault(step(path, name), 'must be an object');
    for (const [key, schema] of Object.entries(isObject(value) ? value : {})) {
      found.push({ schema, path: step(step(path, name), key) });
    }
  }
  for (const name of LISTS) {
    const value = own[name];
    if (Array.isArray(value)) list(name, value);
    else if (value !== undefined) fault(step(path, name), 'must be a list');
  }
  return found;
}

/** Absolute references must name an `$id` that is inside; nothing is ever fetched. */
function isOutside(reference: string, ids: ReadonlySet<string>): boolean {
  if (reference.startsWith('#') || !URL.canParse(reference)) return false;
  const [document = ''] = reference.split('#');
  return !ids.has(document) && !ids.has(reference);
}

function isTooDeep(root: unknown): boolean {
  const open: (readonly [unknown, number])[] = [[root, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, depth] = next;
    if (typeof value !== 'object' || value === null) continue;
    if (depth > DEEPEST) return true;
    for (const member of Object.values(value)) open.push([member, depth + 1]);
  }
  return false;
}
