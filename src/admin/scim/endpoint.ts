// /scim/v2: which operation a request is, and its answer. It knows no HTTP library.
import { type UserBody, users } from '../../access/identity-collections.ts';
import { type ScimGroupBody, scimGroups } from '../../access/scim/scim-collections.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { acceptResource } from './accept.ts';
import type { ScimCaller, ScimDeps, ScimResource } from './deps.ts';
import { discovered } from './discovery.ts';
import { isObject } from './filter-match.ts';
import { scimGroupResource } from './groups.ts';
import { LIST_SCHEMA, type Listed, type ListQuery, listResources, MOST_RESULTS } from './list.ts';
import { etagOf } from './meta.ts';
import { patched } from './patch.ts';
import { type Projection, projected, readProjection } from './projection.ts';
import { GROUPS_KIND, USERS } from './schemas.ts';
import { errorBody, ScimError, toScimError, wrong } from './scim-error.ts';
import { scimUsers } from './users.ts';

/** A request whose token is valid. */
export interface ScimRequest {
  readonly caller: ScimCaller;
  readonly method: string;
  /** Below /scim/v2, without its first slash, decoded. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
  /** The JSON body; undefined without one. */
  readonly body: unknown;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

export interface ScimAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: no body. */
  readonly body: object | undefined;
}

interface Served<B extends object> extends Listed<B> {
  readonly resource: ScimResource<B>;
}

const SEARCH = '.search';

/** Answers requests; it rejects never. */
export function scimEndpoint(deps: ScimDeps): (request: ScimRequest) => Promise<ScimAnswer> {
  const served = [usersServed(deps), groupsServed(deps)] as const;
  return async (request) => {
    try {
      const [first = '', ...rest] = request.parts;
      for (const one of served)
        if (`/${first}` === one.kind.endpoint)
          return await answerResource(deps, one as Served<object>, request, rest);
      if (first === SEARCH && rest.length === 0) return await searchAll(deps, served, request);
      return discovery(deps, request);
    } catch (thrown) {
      return refusal(toScimError(thrown));
    }
  };
}

/** The answer to an error, in the form of SCIM. */
export function refusal(error: ScimError, headers: Readonly<Record<string, string>> = {}): ScimAnswer {
  return { status: error.status, headers, body: errorBody(error) };
}

function usersServed(deps: ScimDeps): Served<UserBody> {
  const resource = scimUsers(deps);
  return {
    kind: USERS,
    collection: users,
    resource,
    show: resource.show,
    indexed(attribute, value) {
      const lower = value.toLowerCase();
      if (attribute === 'id') return [{ field: 'id', op: 'eq', value: fitting(value) }];
      if (attribute === 'externalId') return [{ field: 'externalId', op: 'eq', value: fitting(value) }];
      // Users who came by another way have their address as name.
      if (attribute === 'userName')
        return [
          { field: 'userNameKey', op: 'eq', value: fitting(lower) },
          ...(lower === '' ? [] : [{ field: 'email', op: 'eq', value: fitting(lower) } as const]),
        ];
      return undefined;
    },
  };
}

function groupsServed(deps: ScimDeps) {
  const resource = scimGroupResource(deps);
  const served: Served<ScimGroupBody> = {
    kind: GROUPS_KIND,
    collection: scimGroups,
    resource,
    show: resource.show,
    indexed(attribute, value) {
      if (attribute === 'id') return [{ field: 'id', op: 'eq', value: fitting(value) }];
      if (attribute === 'externalId') return [{ field: 'externalId', op: 'eq', value: fitting(value) }];
      if (attribute === 'displayName')
        return [{ field: 'nameKey', op: 'eq', value: fitting(value.toLowerCase()) }];
      return undefined;
    },
  };
  return served;
}

/** No stored value is longer. */
function fitting(text: string): string {
  return text.slice(0, 600);
}

function discovery(deps: ScimDeps, { method, parts, query }: ScimRequest): ScimAnswer {
  if (parts[0] === 'Me' || parts[0] === 'Bulk') throw new ScimError(501, `/${parts[0]} is not supported`);
  const body = discovered(parts, `${deps.publicUrl()}/scim/v2`);
  if (body === undefined) throw new ScimError(404, 'there is nothing at this path');
  if (method !== 'GET') return notAllowed('GET');
  if (query.has('filter')) throw new ScimError(403, 'what the server can do is not filtered');
  return { status: 200, headers: {}, body };
}

async function answerResource<B extends object>(
  deps: ScimDeps,
  served: Served<B>,
  request: ScimRequest,
  [id, ...more]: readonly string[],
): Promise<ScimAnswer> {
  const { method, query, caller } = request;
  if (more.length > 0) throw new ScimError(404, 'there is nothing at this path');
  if (id === SEARCH) {
    if (method !== 'POST') return notAllowed('POST');
    return search(deps, served, caller, searchQuery(request.body));
  }
  if (id === undefined) {
    if (method === 'GET') return search(deps, served, caller, (name) => query.get(name) ?? undefined);
    if (method !== 'POST') return notAllowed('GET, POST');
    const made = await served.resource.make(caller, accepted(served, request.body));
    return shown(served, made, projectionOf(served, query), 201);
  }
  switch (method) {
    case 'GET': {
      const found = await find(deps, served, caller, id);
      if (listsTag(request.ifNoneMatch, found.version))
        return { status: 304, headers: { etag: etagOf(found.version) }, body: undefined };
      return shown(served, found, projectionOf(served, query), 200);
    }
    case 'PUT':
    case 'PATCH': {
      const projection = projectionOf(served, query);
      const written = await retryOnConflict(async () => {
        const before = await current(deps, served, request, id);
        return served.resource.replace(caller, before, await given(served, before, request));
      });
      return shown(served, written, projection, 200);
    }
    case 'DELETE':
      await retryOnConflict(async () =>
        served.resource.remove(caller, await current(deps, served, request, id)),
      );
      return { status: 204, headers: {}, body: undefined };
    default:
      return notAllowed('GET, PUT, PATCH, DELETE');
  }
}

/** The new resource: of a PATCH the one before with its operations. */
async function given<B extends object>(
  served: Served<B>,
  before: Document<B>,
  { method, body }: ScimRequest,
): Promise<JsonObject> {
  if (method === 'PUT') return accepted(served, body);
  const whole = served.show(before);
  const { attributes } = served.kind;
  const after = accepted(served, await patched(acceptResource(whole, attributes), body, attributes));
  // `active` that an operation took away is not told any more; one that a PUT leaves out stays.
  return whole.active !== undefined && after.active === undefined ? { ...after, active: null } : after;
}

function accepted<B extends object>({ kind }: Served<B>, body: unknown): JsonObject {
  if (!isObject(body)) throw wrong('invalidSyntax', 'the body must be a JSON object');
  return acceptResource(body, kind.attributes);
}

async function find<B extends object>(
  { documents }: ScimDeps,
  { collection, kind }: Served<B>,
  { organisationId }: ScimCaller,
  id: string,
): Promise<Document<B>> {
  const scope = { organisationId, workspaceId: undefined };
  const document = id.length > 256 ? undefined : await documents.get(scope, collection, id);
  if (document === undefined) throw new ScimError(404, `there is no ${kind.name} ${id.slice(0, 100)}`);
  return document;
}

/** The resource, when it has the version that the request asks for. */
async function current<B extends object>(
  deps: ScimDeps,
  served: Served<B>,
  { caller, ifMatch }: ScimRequest,
  id: string,
): Promise<Document<B>> {
  const found = await find(deps, served, caller, id);
  if (ifMatch !== undefined && !listsTag(ifMatch, found.version))
    throw new ScimError(412, `the resource has the version ${etagOf(found.version)} now`);
  return found;
}

function listsTag(header: string | undefined, version: number): boolean {
  if (header === undefined) return false;
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(`"${version}"`);
}

async function search<B extends object>(
  deps: ScimDeps,
  served: Served<B>,
  caller: ScimCaller,
  read: (name: string) => string | undefined,
): Promise<ScimAnswer> {
  const { attributes } = served.kind;
  const projection = readProjection(read('attributes'), read('excludedAttributes'), attributes);
  const names = ['filter', 'sortBy', 'sortOrder', 'startIndex', 'count'] as const;
  const query: ListQuery = Object.fromEntries(names.map((name) => [name, read(name)]));
  const { total, startIndex, found } = await listResources(deps, caller, served, query);
  const body = {
    schemas: [LIST_SCHEMA],
    totalResults: total,
    startIndex,
    itemsPerPage: found.length,
    Resources: found.map((resource) => projected(resource, projection, attributes)),
  };
  return { status: 200, headers: {}, body };
}

/** POST /.search over users and groups, one after the other; a filter by what only one of them has finds that one. */
async function searchAll(
  deps: ScimDeps,
  served: readonly [Served<UserBody>, Served<ScimGroupBody>],
  { method, body, caller }: ScimRequest,
): Promise<ScimAnswer> {
  if (method !== 'POST') return notAllowed('POST');
  const read = searchQuery(body);
  const startIndex = Math.max(1, Number(read('startIndex') ?? 1) || 1);
  const count = Math.min(MOST_RESULTS, Math.max(0, Number(read('count') ?? 100) || 0));
  const whole = (name: string) =>
    name === 'startIndex' ? '1' : name === 'count' ? String(MOST_RESULTS) : read(name);
  const pages: { totalResults: number; Resources: JsonObject[] }[] = [];
  const faults: unknown[] = [];
  for (const one of served)
    await search(deps, one as Served<object>, caller, whole).then(
      ({ body }) => pages.push(body as (typeof pages)[0]),
      (thrown: unknown) => faults.push(thrown),
    );
  if (pages.length === 0) throw faults[0];
  const Resources = pages.flatMap((page) => page.Resources).slice(startIndex - 1, startIndex - 1 + count);
  const totalResults = pages.reduce((sum, page) => sum + page.totalResults, 0);
  const list = {
    schemas: [LIST_SCHEMA],
    totalResults,
    startIndex,
    itemsPerPage: Resources.length,
    Resources,
  };
  return { status: 200, headers: {}, body: list };
}

/** POST /.search has the parameters of a list in its body. */
function searchQuery(body: unknown): (name: string) => string | undefined {
  if (!isObject(body)) throw wrong('invalidSyntax', 'the body must be a JSON object');
  return (name) => {
    const value = body[name];
    if (value === undefined || value === null) return undefined;
    return Array.isArray(value) ? value.join(',') : String(value);
  };
}

function projectionOf<B extends object>({ kind }: Served<B>, query: URLSearchParams): Projection {
  const read = (name: string) => query.get(name) ?? undefined;
  return readProjection(read('attributes'), read('excludedAttributes'), kind.attributes);
}

function shown<B extends object>(
  { kind, show }: Served<B>,
  document: Document<B>,
  projection: Projection,
  status: number,
): ScimAnswer {
  const resource = show(document);
  const { location = '' } = resource.meta as { location?: string };
  const headers = { etag: etagOf(document.version), ...(status === 201 ? { location } : {}) };
  return { status, headers, body: projected(resource, projection, kind.attributes) };
}

function notAllowed(allow: string): ScimAnswer {
  return refusal(new ScimError(405, 'the method is not one of this path'), { allow });
}
