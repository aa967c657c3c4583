// The `configurations` of an MCP integration as callers give them: secrets apart from the rest, and with each secret the
// masked form that may be shown.
import { keyMask } from '../../access/key-hash.ts';
import type { HeaderMask, McpIntegrationBody, McpOauthClient } from '../../access/mcp/mcp-collections.ts';
import { ASSERTION_ALGORITHMS, PRIVATE_KEY_JWT, signingKey } from '../../access/mcp-oauth/client-proof.ts';
import { headerFault } from '../../access/providers/header-fault.ts';
import { invalidField } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import { defined } from '../kit/patch.ts';
import { objectAt, shownRules } from './rules.ts';

/** The part of a body that comes from `configurations`, but for rules. */
export type Configured = Pick<
  McpIntegrationBody,
  'passthroughHeaders' | 'oauth' | 'secrets' | 'headerMasks' | 'clientSecretMask' | 'holdChangedTools'
>;

const GROUP = 'configurations';
const MEMBERS = [
  'custom_headers',
  'passthrough_headers',
  'oauth_metadata',
  'guardrails',
  'tool_prices',
  'hold_changed_tools',
];
/** Other spellings of a member. */
const ALIASES: Readonly<Record<string, string>> = {
  headers: 'custom_headers',
  passthrough_header: 'passthrough_headers',
  forward_headers: 'passthrough_headers',
};
const OAUTH = [
  ...['client_id', 'client_secret', 'token_endpoint', 'authorization_endpoint', 'issuer', 'scope'],
  ...['token_endpoint_auth_method', 'token_endpoint_auth_signing_alg'],
];
const MOST_HEADERS = 32;
const KEY_TEXT = /^[\x20-\x7e\r\n\t]{1,16384}$/;
const TEXT = /^[\x20-\x7e]{1,2048}$/;
/** Of the caller's headers these are the gateway's own, or the protocol's. */
const NEVER_PASSED = /^(?:x-gateway-|mcp-|content-|accept|cookie$|origin$|last-event-id$)/;
/** These the protocol writes itself. */
const NEVER_CUSTOM = /^(?:mcp-|accept$|last-event-id$)/i;

/** What reading them needs. */
export interface ConfigurationDeps {
  /** @throws GatewayError host_refused naming `param` for an address that may not be called. */
  readonly checkHost: (url: string, param: string) => void;
}

/**
 * The members under their own names; masked ones that came back are left out.
 * @throws GatewayError validation_failed for what is no member
 */
export function configurationMembers(given: JsonObject): JsonObject {
  const members: Record<string, Json> = {};
  for (const [spelled, value] of Object.entries(given)) {
    const name = Object.hasOwn(ALIASES, spelled) ? ALIASES[spelled]! : spelled;
    if (name === 'masked_custom_headers') continue;
    if (!MEMBERS.includes(name))
      throw invalidField(
        `${GROUP}.${spelled.slice(0, 64)}`,
        `is no option of MCP integrations: there are ${MEMBERS.join(', ')}`,
      );
    if (members[name] !== undefined)
      throw invalidField(`${GROUP}.${spelled}`, `is given twice: it is ${name}`);
    members[name] = value;
  }
  return members;
}

/**
 * What a body keeps of them. Secrets that are not named stay; null takes one away; everything else is replaced as a whole.
 * @throws GatewayError validation_failed, host_refused
 */
export function configured(deps: ConfigurationDeps, before: Configured, members: JsonObject): Configured {
  const oauth = readOauth(deps, members.oauth_metadata);
  const headers = readHeaders(members.custom_headers);
  const kept = before.secrets ?? {};
  const customHeaders = headers === undefined ? kept.customHeaders : (headers ?? undefined);
  const clientSecret = oauth.secret === undefined ? kept.clientSecret : (oauth.secret ?? undefined);
  const secrets = defined<NonNullable<Configured['secrets']>>({ customHeaders, clientSecret });
  const hold = members.hold_changed_tools ?? undefined;
  if (hold !== undefined && typeof hold !== 'boolean')
    throw invalidField(`${GROUP}.hold_changed_tools`, 'must be true or false', 'type');
  return defined<Configured>({
    passthroughHeaders: readNames(members.passthrough_headers),
    oauth: oauth.client,
    secrets: Object.keys(secrets).length === 0 ? undefined : secrets,
    headerMasks:
      headers === undefined
        ? before.headerMasks
        : headers === null
          ? undefined
          : Object.entries(headers).map(([name, value]) => ({ name, mask: keyMask(value) })),
    clientSecretMask:
      oauth.secret === undefined
        ? before.clientSecretMask
        : oauth.secret === null
          ? undefined
          : keyMask(oauth.secret),
    holdChangedTools: hold === true ? true : undefined,
  });
}

/** What is shown of them. */
export function shownConfigurations(body: McpIntegrationBody): JsonObject {
  const { passthroughHeaders, oauth, headerMasks, clientSecretMask, rules, holdChangedTools } = body;
  const client = defined<JsonObject>({
    client_id: oauth?.clientId,
    token_endpoint: oauth?.tokenEndpoint,
    authorization_endpoint: oauth?.authorizationEndpoint,
    issuer: oauth?.issuer,
    scope: oauth?.scope,
    token_endpoint_auth_method: oauth?.authMethod,
    token_endpoint_auth_signing_alg: oauth?.signingAlgorithm,
    masked_client_secret: clientSecretMask,
  });
  return {
    ...(headerMasks === undefined ? {} : { masked_custom_headers: masksOf(headerMasks) }),
    ...(passthroughHeaders === undefined ? {} : { passthrough_headers: passthroughHeaders }),
    ...(Object.keys(client).length === 0 ? {} : { oauth_metadata: client }),
    ...shownRules(rules),
    ...(holdChangedTools === undefined ? {} : { hold_changed_tools: true }),
  };
}

function masksOf(masks: readonly HeaderMask[]): JsonObject {
  return Object.fromEntries(masks.map(({ name, mask }) => [name, mask]));
}

/** Undefined: not given; null: to be taken away. */
function readHeaders(given: Json | undefined): Readonly<Record<string, string>> | null | undefined {
  if (given === undefined || given === null) return given;
  const field = `${GROUP}.custom_headers`;
  const headers = Object.entries(objectAt(field, given));
  if (headers.length > MOST_HEADERS) throw invalidField(field, `must have at most ${MOST_HEADERS} headers`);
  const seen = new Set<string>();
  for (const [name, value] of headers) {
    const at = `${field}.${name.slice(0, 128)}`;
    if (typeof value !== 'string') throw invalidField(at, 'must be a text', 'type');
    const fault = headerFault(name, value) ?? (NEVER_CUSTOM.test(name) ? "is the protocol's own" : undefined);
    if (fault !== undefined) throw invalidField(at, fault);
    if (seen.has(name.toLowerCase())) throw invalidField(at, 'is given twice');
    seen.add(name.toLowerCase());
  }
  return headers.length === 0 ? null : (Object.fromEntries(headers) as Record<string, string>);
}

function readNames(given: Json | undefined): readonly string[] | undefined {
  if (given === undefined || given === null) return undefined;
  const field = `${GROUP}.passthrough_headers`;
  const names = typeof given === 'string' ? given.split(',').map((name) => name.trim()) : given;
  if (!Array.isArray(names) || names.length > MOST_HEADERS)
    throw invalidField(field, `must be a list of at most ${MOST_HEADERS} names of headers`, 'type');
  const read = names.map((name: Json, i) => {
    const at = `${field}[${i}]`;
    if (typeof name !== 'string') throw invalidField(at, 'must be a text', 'type');
    const lower = name.toLowerCase();
    const fault = headerFault(lower, 'x') ?? (NEVER_PASSED.test(lower) ? 'is never sent on' : undefined);
    if (fault !== undefined) throw invalidField(at, fault);
    return lower;
  });
  return read.length === 0 ? undefined : [...new Set(read)];
}

interface GivenOauth {
  readonly client?: McpOauthClient;
  /** Undefined: not given; null: to be taken away. */
  readonly secret?: string | null;
}

function readOauth({ checkHost }: ConfigurationDeps, given: Json | undefined): GivenOauth {
  if (given === undefined) return {};
  if (given === null) return { secret: null };
  const field = `${GROUP}.oauth_metadata`;
  const { masked_client_secret: _, ...members } = objectAt(field, given);
  const known = objectAt(field, members, OAUTH);
  const isSigned = known.token_endpoint_auth_method === PRIVATE_KEY_JWT;
  for (const [name, value] of Object.entries(known)) {
    const form = name === 'client_secret' && isSigned ? KEY_TEXT : TEXT;
    if (value !== null && !(typeof value === 'string' && form.test(value)))
      throw invalidField(
        `${field}.${name}`,
        form === TEXT
          ? 'must be 1 to 2048 printable characters'
          : 'must be a private key of at most 16384 characters',
      );
  }
  const signing = readSigning(known, field);
  for (const name of ['token_endpoint', 'authorization_endpoint', 'issuer'])
    if (typeof known[name] === 'string') checkAddress(checkHost, known[name], `${field}.${name}`);
  const text = (name: string): string | undefined =>
    typeof known[name] === 'string' ? (known[name] as string) : undefined;
  const client = defined<McpOauthClient>({
    clientId: text('client_id'),
    tokenEndpoint: text('token_endpoint'),
    authorizationEndpoint: text('authorization_endpoint'),
    issuer: text('issuer'),
    scope: text('scope'),
    ...signing,
  });
  const secret = known.client_secret as string | null | undefined;
  return {
    ...(Object.keys(client).length === 0 ? {} : { client }),
    ...(secret === undefined ? {} : { secret }),
  };
}

/** How the gateway proves itself, and that the key can. @throws GatewayError validation_failed */
function readSigning(
  known: JsonObject,
  field: string,
): Pick<McpOauthClient, 'authMethod' | 'signingAlgorithm'> {
  const {
    token_endpoint_auth_method: method,
    token_endpoint_auth_signing_alg: algorithm,
    client_secret: key,
  } = known;
  const isSigned = method === PRIVATE_KEY_JWT;
  if (method !== undefined && method !== null && !isSigned)
    throw invalidField(
      `${field}.token_endpoint_auth_method`,
      `must be ${PRIVATE_KEY_JWT}: without it the client proves itself by its secret`,
    );
  const named = typeof algorithm === 'string' ? algorithm : undefined;
  const isKnown = named === undefined || ASSERTION_ALGORITHMS.some((one) => one === named);
  if (!isKnown || (named !== undefined && !isSigned))
    throw invalidField(
      `${field}.token_endpoint_auth_signing_alg`,
      isKnown ? `needs ${PRIVATE_KEY_JWT}` : `must be one of ${ASSERTION_ALGORITHMS.join(', ')}`,
    );
  if (!isSigned) return {};
  if (typeof key === 'string' && signingKey(key, named) === undefined)
    throw invalidField(
      `${field}.client_secret`,
      'must be a private key that can sign so: PKCS#8 in PEM, or a JWK (RSA of 2048 bits and more, EC, Ed25519)',
    );
  return { authMethod: PRIVATE_KEY_JWT, ...(named === undefined ? {} : { signingAlgorithm: named }) };
}

/** @throws GatewayError validation_failed for what is no plain http(s) address, host_refused for a private one. */
export function checkAddress(checkHost: ConfigurationDeps['checkHost'], text: string, field: string): void {
  const url = /^[\x21-\x7e]+$/.test(text) ? URL.parse(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw invalidField(field, 'must be an address that begins with https:// or http://');
  if (url.username !== '' || url.password !== '' || text.includes('#'))
    throw invalidField(field, 'must have neither credentials nor a fragment in it');
  checkHost(text, field);
}
