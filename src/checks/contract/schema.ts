// JSON Schemas that users write: their outline is judged at once, without compiling; the rest is found in the sandbox.
import { type Fault, isObject } from './parameters.ts';

const DEEPEST = 60;
const DRAFTS = /^https?:\/\/json-schema\.org\/(draft\/(2020-12|2019-09)|draft-0[67])\/schema#?$/;

/** Notes faults: an unknown draft, a reference to a schema that is not inside, too deep a nest. */
export function requireSchema(schema: object, path: string, fault: Fault): void {
  const ids = new Set<string>();
  const references: string[] = [];
  const open: (readonly [unknown, number])[] = [[schema, 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, depth] = next;
    if (depth > DEEPEST) {
      fault(path, `is nested more than ${DEEPEST} deep`);
      return;
    }
    if (Array.isArray(value)) for (const item of value) open.push([item, depth + 1]);
    if (!isObject(value)) continue;
    if (typeof value.$id === 'string') ids.add(value.$id);
    for (const name of ['$ref', '$dynamicRef', '$recursiveRef']) {
      const reference = value[name];
      if (typeof reference === 'string') references.push(reference);
    }
    for (const member of Object.values(value)) open.push([member, depth + 1]);
  }
  const draft = '$schema' in schema ? schema.$schema : undefined;
  if (draft !== undefined && !(typeof draft === 'string' && DRAFTS.test(draft))) {
    fault(`${path}.$schema`, 'must name JSON Schema 2020-12, 2019-09, draft-07 or draft-06');
  }
  const outside = references.find((reference) => isOutside(reference, ids));
  if (outside !== undefined) {
    fault(path, `refers to ${JSON.stringify(outside.slice(0, 200))}: schemas elsewhere are not fetched`);
  }
}

/** Absolute references must name an `$id` that is inside; nothing is ever fetched. */
function isOutside(reference: string, ids: ReadonlySet<string>): boolean {
  if (reference.startsWith('#') || !URL.canParse(reference)) return false;
  const [document = ''] = reference.split('#');
  return !ids.has(document) && !ids.has(reference);
}
