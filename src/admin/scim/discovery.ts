// What a client learns of the server (RFC 7643, parts 5 to 7).
import type { JsonObject } from '../../store/collection.ts';
import { LIST_SCHEMA, MOST_RESULTS } from './list.ts';
import { ENTERPRISE_SCHEMA, GROUPS_KIND, SCHEMAS, USERS } from './schemas.ts';

const PREFIX = 'urn:ietf:params:scim:schemas:core:2.0';

/** The answer of a discovery path below the base; undefined when it is none, or has no such thing. */
export function discovered(parts: readonly string[], base: string): JsonObject | undefined {
  const [first, second, ...more] = parts;
  if (more.length > 0) return undefined;
  if (first === 'ServiceProviderConfig') return second === undefined ? providerConfig(base) : undefined;
  const all =
    first === 'ResourceTypes' ? resourceTypes(base) : first === 'Schemas' ? schemas(base) : undefined;
  if (all === undefined || second === undefined) return all && listed(all);
  return all.find(({ id }) => id === second);
}

function providerConfig(base: string): JsonObject {
  return {
    schemas: [`${PREFIX}:ServiceProviderConfig`],
    documentationUri: `${base.replace(/\/scim\/v2$/, '')}/docs/sign-in`,
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: MOST_RESULTS },
    changePassword: { supported: false },
    sort: { supported: true },
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'A token that an admin of the organisation makes.',
        specUri: 'https://www.rfc-editor.org/info/rfc6750',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  };
}

function resourceTypes(base: string): readonly JsonObject[] {
  return [USERS, GROUPS_KIND].map(({ name, endpoint, schema }) => ({
    schemas: [`${PREFIX}:ResourceType`],
    id: name,
    name,
    endpoint,
    description: name === 'User' ? 'A person of the organisation.' : 'A group of users.',
    schema,
    ...(name === 'User' ? { schemaExtensions: [{ schema: ENTERPRISE_SCHEMA, required: false }] } : {}),
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  }));
}

function schemas(base: string): readonly JsonObject[] {
  return SCHEMAS.map(({ attributes, ...schema }) => ({
    schemas: [`${PREFIX}:Schema`],
    ...schema,
    attributes: attributes as unknown as JsonObject[],
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${schema.id}` },
  }));
}

function listed(all: readonly JsonObject[]): JsonObject {
  return {
    schemas: [LIST_SCHEMA],
    totalResults: all.length,
    startIndex: 1,
    itemsPerPage: all.length,
    Resources: all,
  };
}
