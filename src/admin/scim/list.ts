// Lists: filtered, sorted, in pages (RFC 7644, part 3.4.2).
import type { Collection, JsonObject } from '../../store/collection.ts';
import type { Condition, Document } from '../../store/documents.ts';
import { everyDocument } from '../../store/every-document.ts';
import { type AttributePath, pathOf } from './attribute-path.ts';
import type { ScimCaller, ScimDeps } from './deps.ts';
import { type Filter, parseFilter } from './filter.ts';
import { isObject, matches, valuesAt } from './filter-match.ts';
import type { ResourceKind } from './schemas.ts';
import { wrong } from './scim-error.ts';

export const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
export const MOST_RESULTS = 1000;
const DEFAULT_RESULTS = 100;
/** Resources that a filter or an order looks through. */
const MOST_LOOKED_AT = 50_000;

export interface ListQuery {
  readonly filter?: string | undefined;
  readonly sortBy?: string | undefined;
  readonly sortOrder?: string | undefined;
  readonly startIndex?: string | undefined;
  readonly count?: string | undefined;
}

export interface Listed<B extends object> {
  readonly kind: ResourceKind;
  readonly collection: Collection<B>;
  readonly show: (document: Document<B>) => JsonObject;
  /** The condition of the store for `attribute eq value`; undefined: there is none. */
  readonly indexed: (attribute: string, value: string) => readonly Condition[] | undefined;
}

/** A page of resources as they are shown whole. @throws ScimError invalidFilter, invalidPath, invalidValue, tooMany */
export async function listResources<B extends object>(
  deps: ScimDeps,
  { organisationId }: ScimCaller,
  listed: Listed<B>,
  query: ListQuery,
): Promise<{ readonly total: number; readonly startIndex: number; readonly found: readonly JsonObject[] }> {
  const { attributes } = listed.kind;
  const filter = isGiven(query.filter) ? parseFilter(query.filter, attributes) : undefined;
  const sortBy = isGiven(query.sortBy) ? sortPath(query.sortBy, listed.kind) : undefined;
  const descends = isDescending(query.sortOrder);
  const startIndex = Math.max(1, integer('startIndex', query.startIndex, 1));
  const count = Math.min(MOST_RESULTS, Math.max(0, integer('count', query.count, DEFAULT_RESULTS)));
  const found: JsonObject[] = [];
  const sorted: { readonly key: string | undefined; readonly resource: JsonObject }[] = [];
  const taken = new Set<string>();
  let total = 0;
  let looked = 0;
  const conditions = filter === undefined ? undefined : conditionsOf(filter, listed);
  for (const condition of conditions ?? [undefined]) {
    for await (const document of allOf(deps, organisationId, listed.collection, condition)) {
      if (++looked > MOST_LOOKED_AT)
        throw wrong('tooMany', `more than ${MOST_LOOKED_AT} resources: filter by id, userName or externalId`);
      const isOnPage = total + 1 >= startIndex && found.length < count;
      // Several conditions may find the same one: a user whose name is the address.
      if (conditions !== undefined) {
        if (taken.has(document.id)) continue;
        taken.add(document.id);
      }
      // What is not on the page is counted without being shown.
      if (filter === undefined && sortBy === undefined && !isOnPage) {
        total++;
        continue;
      }
      const resource = listed.show(document);
      if (filter !== undefined && !matches(filter, resource)) continue;
      total++;
      if (sortBy !== undefined) sorted.push({ key: sortKey(sortBy, resource), resource });
      else if (isOnPage) found.push(resource);
    }
  }
  if (sortBy === undefined) return { total, startIndex, found };
  sorted.sort((a, b) => compareKeys(a.key, b.key, descends));
  const page = sorted.slice(startIndex - 1, startIndex - 1 + count).map(({ resource }) => resource);
  return { total, startIndex, found: page };
}

function allOf<B extends object>(
  { documents }: ScimDeps,
  organisationId: string,
  collection: Collection<B>,
  condition: Condition | undefined,
): AsyncGenerator<Document<B>> {
  const scope = { organisationId, workspaceId: undefined };
  return everyDocument(documents, scope, collection, condition && { filter: [condition] });
}

/** What the store is asked for, one after the other, when every match has an indexed value; undefined: all. */
function conditionsOf<B extends object>(filter: Filter, listed: Listed<B>): readonly Condition[] | undefined {
  if (filter.kind === 'and')
    return filter.parts.map((part) => conditionsOf(part, listed)).find((found) => found !== undefined);
  if (filter.kind !== 'compare' || filter.op !== 'eq' || typeof filter.value !== 'string') return undefined;
  const { attribute, sub } = filter.path;
  const name = sub === undefined ? attribute.name : `${attribute.name}.${sub.name}`;
  return listed.indexed(name, filter.value);
}

function sortPath(text: string, { attributes }: ResourceKind): AttributePath {
  const path = pathOf(text, attributes);
  if (path === undefined) throw wrong('invalidPath', `sortBy: ${text.slice(0, 100)} is no attribute`);
  return path;
}

/** Of several values the primary one, or else the first. */
function sortKey(path: AttributePath, resource: JsonObject): string | undefined {
  const values = valuesAt(path, resource);
  const chosen = values.find((value) => isObject(value) && value.primary === true) ?? values[0];
  const value = isObject(chosen) ? chosen.value : chosen;
  if (value === undefined || value === null) return undefined;
  const { caseExact } = path.leaf ?? path.sub ?? path.attribute;
  return caseExact ? String(value) : String(value).toLowerCase();
}

/** Resources without a value are last when ascending, first when descending. */
function compareKeys(a: string | undefined, b: string | undefined, descends: boolean): number {
  const order = a === b ? 0 : a === undefined ? 1 : b === undefined ? -1 : a < b ? -1 : 1;
  return descends ? -order : order;
}

function isDescending(order: string | undefined): boolean {
  const lower = order?.toLowerCase() ?? 'ascending';
  if (lower !== 'ascending' && lower !== 'descending')
    throw wrong('invalidValue', 'sortOrder must be ascending or descending');
  return lower === 'descending';
}

function integer(name: string, text: string | undefined, fallback: number): number {
  if (!isGiven(text)) return fallback;
  if (!/^-?\d{1,9}$/.test(text)) throw wrong('invalidValue', `${name} must be an integer`);
  return Number(text);
}

function isGiven(text: string | undefined): text is string {
  return text !== undefined && text.trim() !== '';
}
