// One declared record: made, changed, or found to be as it is.
import { isDeepStrictEqual } from 'node:util';
import type { DescMethod, Message } from '@bufbuild/protobuf';
import type { ManagedRecord } from '../../access/managed-records.ts';
import { invalidField } from '../../lib/errors.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { shapeOf } from '../../rest/json-shape.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import type { DeclaredRecord, Kind, KindDeps } from './kind.ts';

/** The workspace that a record belongs to; undefined: the organisation's. @throws GatewayError validation_failed */
export function placeOf(
  { kind, members }: DeclaredRecord,
  { directory, organisationId }: Pick<KindDeps, 'directory' | 'organisationId'>,
): string | undefined {
  if (kind.place === 'organisation') return undefined;
  const given = members.workspace ?? members.workspace_id;
  if (given === undefined) {
    if (kind.place === 'either' && !(kind.list === 'keys' && !isOrganisationKey(members))) return undefined;
    const first = directory.defaultWorkspace(organisationId);
    if (first === undefined) throw invalidField('workspace', 'is needed: there is no default workspace');
    return first.id;
  }
  const found = typeof given === 'string' ? directory.workspace(organisationId, given) : undefined;
  if (found !== undefined) return found.id;
  const slugs = directory
    .workspaceIds(organisationId)
    .map((id) => directory.workspace(organisationId, id)?.slug ?? id);
  throw invalidField('workspace', `names no workspace${didYouMean(String(given), slugs)}`);
}

function isOrganisationKey({ type }: JsonObject): boolean {
  return typeof type === 'string' && type.startsWith('organisation');
}

/** The members of the create call. */
export function createMembers(
  { kind, members, slug }: DeclaredRecord,
  workspaceId: string | undefined,
  deps: KindDeps,
): JsonObject {
  const { workspace: _, workspace_id: __, integration, slug: ___, ...rest } = members;
  const prepared = kind.prepare?.(rest, deps) ?? rest;
  const late = new Set(kind.late ?? []);
  return {
    ...Object.fromEntries(Object.entries(prepared).filter(([name]) => !late.has(name))),
    ...(integration === undefined ? {} : { integration_id: integration }),
    ...(slug === undefined || kind.choosesSlug ? {} : { slug }),
    ...(workspaceId === undefined ? {} : { workspace_id: workspaceId }),
  };
}

/** The call that names a stored record. */
export function naming(method: DescMethod, kind: Kind, { id, workspaceId }: Document<object>): JsonObject {
  const place = has(method, 'workspace_id') && workspaceId !== undefined && kind.id !== 'workspace_id';
  return { [kind.id]: id, ...(place ? { workspace_id: workspaceId } : {}) };
}

/**
 * @param known the members that the stored record has: as it was declared, else as it would be exported
 * @throws GatewayError as the call does; validation_failed for a member that cannot be changed
 */
export async function updateStored(
  { kind, declared, members, slug }: DeclaredRecord,
  stored: Document<object>,
  json: JsonObject,
  managed: ManagedRecord | undefined,
  known: JsonObject,
  deps: KindDeps,
): Promise<void> {
  checkFixed(kind, declared, known);
  const names = new Set(Object.keys(json).filter((name) => name !== 'slug' && name !== 'workspace_id'));
  const update: Record<string, JsonObject[string]> = {};
  for (const name of names) if (has(kind.update, name)) update[name] = json[name]!;
  for (const name of Object.keys(managed?.declared ?? {})) {
    if (name in members || !has(kind.update, name) || kind.late?.includes(name)) continue;
    update[name] = kind.absent?.[name] ?? null;
  }
  const merged = managed?.declared.configurations;
  if (typeof merged === 'object' && merged !== null && typeof update.configurations === 'object')
    update.configurations = { ...nulls(merged as JsonObject), ...(update.configurations as JsonObject) };
  if (slug !== undefined && kind.list === 'keys') delete update.slug;
  const whole = { ...update, ...naming(kind.update, kind, stored) };
  const sent = kind.changed?.(whole, known) ?? whole;
  if (Object.keys(sent).length > Object.keys(naming(kind.update, kind, stored)).length)
    await deps.run(kind.update, sent);
}

function nulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.keys(object).map((name) => [name, null]));
}

/** @throws GatewayError validation_failed for members that only the create call takes */
function checkFixed(
  { create, update, onlyNew = [], own = [] }: Kind,
  declared: JsonObject,
  known: JsonObject,
): void {
  const free = new Set([
    ...onlyNew,
    ...own,
    'slug',
    'workspace',
    'workspace_id',
    'provider',
    'model',
    'sub_type',
  ]);
  for (const [name, value] of Object.entries(declared)) {
    const asked = name === 'integration' ? 'integration_id' : name;
    if (free.has(name) || !has(create, asked) || has(update, asked)) continue;
    const was = name === 'type' && known.type === undefined ? value : known[name];
    if (was !== undefined && !isDeepStrictEqual(was, value))
      throw invalidField(name, 'cannot be changed once the record is made: give the record another name');
  }
}

/** Whether a call has a member. */
export function has(method: DescMethod, name: string): boolean {
  const shape = shapeOf(method.input);
  return shape.kind === 'object' && shape.byName.has(name);
}

/** The id that a create call answers. */
export function idOf(answer: Message): string {
  return String((answer as Message & { readonly id?: unknown }).id ?? '');
}
