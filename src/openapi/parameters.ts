// The gateway's request headers (the specification's Authentication part) as
// reusable parameters and security schemes.
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { METADATA_LIMITS } from '../inference/plan/request-settings.ts';
import { MAX_TIMEOUT_MS } from '../lib/request-timeout.ts';
import { providers } from '../providers/catalog/registry.ts';
import type { Json } from './json.ts';
import { idsInWords } from './providers.ts';

const text = { type: 'string' };
const { members, nameLength, valueLength } = METADATA_LIMITS;

/** Headers by the component's name. */
const HEADERS: Readonly<Record<string, Json>> = {
  Provider: {
    name: 'x-gateway-provider',
    description:
      `The provider: \`@<slug>\` of a stored provider, or its identifier, one of ${idsInWords(providers)}. ` +
      'Their options and the headers that set them are listed under `x-sluice-providers`.',
    schema: { ...text, minLength: 1 },
    example: 'openai',
  },
  VirtualKey: {
    name: 'x-gateway-virtual-key',
    description: 'Slug of a stored provider; the older way of writing `x-gateway-provider: @<slug>`.',
    schema: { ...text, minLength: 1 },
    deprecated: true,
  },
  Config: {
    name: 'x-gateway-config',
    description: 'A routing config: a JSON object, or the id of a saved one.',
    schema: text,
  },
  CustomHost: {
    name: 'x-gateway-custom-host',
    description:
      'Base URL to send the request to; `x-gateway-provider` says which API is spoken there. Private addresses are refused unless the operator allows them.',
    schema: { ...text, format: 'uri' },
  },
  TraceId: {
    name: 'x-gateway-trace-id',
    description: 'Id to refer to one or more requests; made when absent, and given back in the answer.',
    schema: { ...text, minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
  },
  WorkspaceId: {
    name: 'x-gateway-workspace-id',
    description:
      'The workspace, by id or slug, that the call means: the same as `workspace_id`, also as metadata over gRPC and Connect.',
    schema: { ...text, maxLength: 255 },
  },
  Metadata: {
    name: 'x-gateway-metadata',
    description:
      'Custom metadata for logs and policies. `_user`, `_prompt`, `_organisation` and `_environment` have a meaning of their own. ' +
      `A JSON object of at most ${members} members, whose names have 1 to ${nameLength} characters. ` +
      `Values that are not strings are kept as their JSON text, at most ${valueLength} characters.`,
    schema: text,
    example: '{"_user":"ada","team":"support"}',
  },
  RequestTimeout: {
    name: 'x-gateway-request-timeout',
    description:
      'Milliseconds after which the whole call ends, streams included: 408 before the answer has begun, an error event after that.',
    schema: { type: 'integer', minimum: 1, maximum: MAX_TIMEOUT_MS },
  },
  ForwardHeaders: {
    name: 'x-gateway-forward-headers',
    description:
      'Names of other headers of this request that go on to the provider unchanged; separated by commas, or a JSON array of strings.',
    schema: text,
    example: 'x-correlation-id,x-team',
  },
  CacheForceRefresh: {
    name: 'x-gateway-cache-force-refresh',
    description: 'Call the provider although the cache has an answer, and store the new one.',
    schema: { type: 'boolean' },
  },
  CacheNamespace: {
    name: 'x-gateway-cache-namespace',
    description: 'Partition of the cache; metadata and other headers are then left out of its key.',
    schema: text,
  },
};

/** Generators give parameters and schemas one space of names, and `Config` is a schema. */
const componentOf = (name: string): string => `${name}Header`;

/** The parameters, as components. */
export function headerParameters(): { [name: string]: Json } {
  return Object.fromEntries(
    Object.entries(HEADERS).map(([name, { name: header, ...rest }]) => [
      componentOf(name),
      { name: header, in: 'header', ...rest },
    ]),
  );
}

const DATA_HEADERS = Object.keys(HEADERS).filter((name) => name !== 'WorkspaceId');

/** References to the headers that operations of a plane read. */
export function headersOf(plane: Plane): Json[] {
  const names = plane === Plane.DATA ? DATA_HEADERS : ['TraceId', 'WorkspaceId'];
  return names.map((name) => ({ $ref: `#/components/parameters/${componentOf(name)}` }));
}

const header = (component: string, description: string): Json => ({
  type: 'apiKey',
  in: 'header',
  name: HEADERS[component]?.name,
  description,
});

/**
 * How callers authenticate to the gateway and to the provider. OpenAPI has tools ignore a
 * header parameter named Authorization, so both of its uses are schemes.
 */
export function securitySchemes(): { [name: string]: Json } {
  return {
    GatewayKey: {
      type: 'apiKey',
      in: 'header',
      name: 'x-gateway-api-key',
      description: 'A key of this gateway.',
    },
    GatewayBearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'A key of this gateway, when `x-gateway-api-key` is absent. It is not forwarded.',
    },
    ProviderAuth: {
      type: 'http',
      scheme: 'bearer',
      description:
        "In addition to `x-gateway-api-key`: the provider's own key. It is converted to the header that the provider expects.",
    },
    Provider: header('Provider', 'Which provider.'),
    VirtualKey: header('VirtualKey', 'Which stored provider.'),
    Config: header('Config', 'Which config.'),
    CustomHost: header('CustomHost', 'Which host.'),
  };
}

/** The accepted combinations: of the data plane those of the specification, then those with a bearer key. */
export function securityOf(plane: Plane): Json[] {
  const combinations =
    plane === Plane.DATA
      ? [
          ['GatewayKey', 'VirtualKey'],
          ['GatewayKey', 'ProviderAuth', 'Provider'],
          ['GatewayKey', 'Config'],
          ['GatewayKey', 'ProviderAuth', 'Provider', 'CustomHost'],
          ['GatewayKey', 'Provider'],
          ['GatewayBearer', 'Provider'],
          ['GatewayBearer', 'Config'],
        ]
      : [['GatewayKey'], ['GatewayBearer']];
  return combinations.map((names) => Object.fromEntries(names.map((name) => [name, []])));
}
