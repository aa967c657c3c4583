// PATCH (RFC 7644, part 3.5.2), also as Entra and Okta write it: operations in any letter case, values without a path
// whose names have dots, and members to remove as values.
import { isDeepStrictEqual } from 'node:util';
import { nextTurn } from '../../lib/time-slices.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import { acceptValue, MOST_MEMBERS } from './accept.ts';
import type { Attribute } from './attribute.ts';
import type { Filter } from './filter.ts';
import { isObject, matches } from './filter-match.ts';
import { type PatchPath, readPatchPath } from './patch-path.ts';
import { wrong } from './scim-error.ts';

const MOST_OPERATIONS = 1000;
/** Values that are looked through before others get their turn. */
const TURN = 20_000;

type Op = 'add' | 'replace' | 'remove';
type Draft = Record<string, Json>;

/** The resource after all operations; the given one stays. @throws ScimError */
export async function patched(
  resource: JsonObject,
  body: unknown,
  attributes: readonly Attribute[],
): Promise<JsonObject> {
  const draft = structuredClone(resource) as Draft;
  let work = 0;
  for (const given of operationsOf(body)) {
    const [op, path, value] = readOperation(given);
    if (path === undefined) applyMembers(draft, op, value, attributes);
    else applyAt(draft, op, readPatchPath(path, attributes), value);
    work += 1 + (Array.isArray(draft.members) ? draft.members.length : 0);
    if (work > TURN) {
      work = 0;
      await nextTurn();
    }
  }
  return draft;
}

function operationsOf(body: unknown): readonly Json[] {
  const found = isObject(body) && Object.entries(body).find(([name]) => name.toLowerCase() === 'operations');
  const operations = found ? found[1] : undefined;
  if (!Array.isArray(operations) || operations.length === 0)
    throw wrong('invalidSyntax', 'Operations must be a list of at least one operation');
  if (operations.length > MOST_OPERATIONS)
    throw wrong('tooMany', `a request has at most ${MOST_OPERATIONS} operations`);
  return operations;
}

function readOperation(given: Json): readonly [Op, string | undefined, Json | undefined] {
  if (!isObject(given)) throw wrong('invalidSyntax', 'an operation must be an object');
  const op = typeof given.op === 'string' ? given.op.toLowerCase() : '';
  if (op !== 'add' && op !== 'replace' && op !== 'remove')
    throw wrong('invalidSyntax', 'op must be add, replace or remove');
  const { path } = given;
  if (path !== undefined && path !== null && typeof path !== 'string')
    throw wrong('invalidPath', 'path must be a text');
  const named = typeof path === 'string' && path.trim() !== '' ? path.trim() : undefined;
  if (op === 'remove' && named === undefined) throw wrong('noTarget', 'remove needs a path');
  if (op !== 'remove' && given.value === undefined) throw wrong('invalidValue', `${op} needs a value`);
  return [op, named, given.value];
}

/** A value without a path: each of its members is one. What no schema names is left out, as in a whole resource. */
function applyMembers(draft: Draft, op: Op, value: Json | undefined, attributes: readonly Attribute[]): void {
  if (!isObject(value)) throw wrong('invalidValue', 'a value without a path must be an object');
  for (const [name, member] of Object.entries(value)) {
    const path = readPatchPath(name, attributes, true);
    if (path !== undefined && path.attribute.mutability !== 'readOnly') applyAt(draft, op, path, member);
  }
}

function applyAt(draft: Draft, op: Op, path: PatchPath, value: Json | undefined): void {
  const { attribute, sub, leaf, filter } = path;
  const last = leaf ?? sub ?? attribute;
  if (last.mutability === 'readOnly' || attribute.mutability === 'readOnly')
    throw wrong('mutability', `${last.name} cannot be changed`);
  if (sub !== undefined && last.mutability === 'immutable')
    throw wrong(
      'mutability',
      `${attribute.name}.${last.name} cannot be changed: remove the value and add another`,
    );
  if (op === 'remove' && attribute.required && sub === undefined && filter === undefined)
    throw wrong('invalidValue', `${attribute.name} is required`);
  if (filter !== undefined) {
    applyToValues(draft, op, path, filter, value);
    return;
  }
  if (sub === undefined) {
    applyTo(draft, op, attribute, value);
    return;
  }
  if (attribute.multiValued) {
    for (const one of listOf(draft[attribute.name])) if (isObject(one)) applyTo(one as Draft, op, sub, value);
    return;
  }
  const inner = (isObject(draft[attribute.name]) ? draft[attribute.name] : {}) as Draft;
  if (leaf === undefined) applyTo(inner, op, sub, value);
  else {
    const deeper = (isObject(inner[sub.name]) ? inner[sub.name] : {}) as Draft;
    applyTo(deeper, op, leaf, value);
    put(inner, sub, Object.keys(deeper).length === 0 ? undefined : deeper);
  }
  put(draft, attribute, Object.keys(inner).length === 0 ? undefined : inner);
}

function applyTo(target: Draft, op: Op, attribute: Attribute, value: Json | undefined): void {
  const before = target[attribute.name];
  if (op === 'remove') {
    // Entra names members to remove as values.
    const isSome = attribute.multiValued && value !== undefined && value !== null;
    put(target, attribute, isSome ? without(listOf(before), attribute, value) : undefined);
    return;
  }
  const accepted = acceptValue(value ?? null, attribute, attribute.name);
  if (attribute.multiValued) {
    const list = listOf(accepted);
    put(target, attribute, op === 'add' ? joined(listOf(before), list, attribute) : list);
    return;
  }
  const isMerged = attribute.type === 'complex' && isObject(accepted) && isObject(before);
  put(target, attribute, isMerged ? { ...before, ...accepted } : accepted);
}

/** `attribute[filter]` and `attribute[filter].sub`. */
function applyToValues(
  draft: Draft,
  op: Op,
  { attribute, sub }: PatchPath,
  filter: Filter,
  value: Json | undefined,
): void {
  const values = [...listOf(draft[attribute.name])] as Json[];
  const found = values.filter((one) => isObject(one) && matches(filter, one));
  if (op === 'remove' && sub === undefined) {
    const gone = new Set(found);
    const left = values.filter((one) => !gone.has(one));
    put(draft, attribute, left);
    return;
  }
  if (found.length === 0) {
    if (op === 'remove') return;
    if (op === 'replace') throw wrong('noTarget', `no value of ${attribute.name} matches the filter`);
    const made: Draft = toldBy(filter);
    found.push(made);
    values.push(made);
  }
  for (const one of found as Draft[]) {
    if (sub !== undefined) applyTo(one, op, sub, value);
    else Object.assign(one, acceptValue(value ?? null, { ...attribute, multiValued: false }, attribute.name));
  }
  put(draft, attribute, onePrimary(values, found));
}

/** What an `eq` filter tells of the value that it looks for: identity providers add a work address this way. */
function toldBy(filter: Filter): Draft {
  if (filter.kind === 'and') return Object.assign({}, ...filter.parts.map(toldBy));
  return filter.kind === 'compare' && filter.op === 'eq'
    ? { [filter.path.attribute.name]: filter.value }
    : {};
}

function without(values: readonly Json[], attribute: Attribute, gone: Json): Json[] {
  const named = new Set(listOf(acceptValue(gone, attribute, attribute.name)).map(keyOf));
  return values.filter((one) => !named.has(keyOf(one)));
}

function joined(before: readonly Json[], added: readonly Json[], attribute: Attribute): Json[] {
  if (attribute.name === 'members') {
    const byKey = new Map([...before, ...added].map((one) => [keyOf(one), one]));
    if (byKey.size > MOST_MEMBERS)
      throw wrong('invalidValue', `members has more than ${MOST_MEMBERS} values`);
    return [...byKey.values()];
  }
  const fresh = added.filter((one) => !before.some((other) => isDeepStrictEqual(one, other)));
  return onePrimary([...before, ...fresh], fresh);
}

/** At most one value is primary: the one that was given last. */
function onePrimary(values: Json[], given: readonly Json[]): Json[] {
  const chosen = given.findLast((one) => isObject(one) && one.primary === true);
  if (chosen === undefined) return values;
  return values.map((one) =>
    one !== chosen && isObject(one) && one.primary === true ? { ...one, primary: false } : one,
  );
}

function keyOf(value: Json): string {
  return isObject(value) ? String(value.value ?? JSON.stringify(value)) : String(value);
}

function put(target: Draft, { name }: Attribute, value: Json | undefined): void {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) delete target[name];
  else target[name] = value;
}

function listOf(value: Json | undefined): readonly Json[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value as Json];
}
