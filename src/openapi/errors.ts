// Error answers: which statuses an operation may answer with, and the two shapes
// of rest/error-body.ts. Statuses and codes come from the table in lib/errors.ts.
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { fail, type Reason } from '../lib/errors.ts';
import type { Route } from '../rest/routes.ts';
import { type Json, type Schema, sorted } from './json.ts';

/** Where a reason occurs. */
type Where = 'every' | 'body' | 'data' | 'named' | 'write' | 'never';

/** When each reason is given. A reason that is new in lib/errors.ts does not compile until it is here. */
const REASONS: Readonly<Record<Reason, readonly [Where, string]>> = {
  validation_failed: ['every', 'a member or parameter breaks its rule'],
  malformed_body: ['body', 'the body is not valid JSON'],
  invalid_header: ['every', 'a gateway header cannot be read'],
  config_invalid: ['data', 'the config is invalid'],
  provider_missing: ['data', 'no provider is selected'],
  provider_unknown: ['data', 'the selected provider is not known'],
  selection_conflict: ['data', 'two ways of selecting a provider contradict each other'],
  host_refused: ['data', 'the custom host may not be called'],
  model_missing: ['data', 'no model is named'],
  operation_unsupported: ['data', 'the provider does not have this operation'],
  unauthenticated: ['every', 'the API key or token is missing, unknown, invalid or expired'],
  forbidden: ['every', 'the key lacks the scope, or is of a kind that may not call this'],
  route_unknown: ['never', 'there is nothing at this path'],
  not_found: ['named', 'what the path or the body names does not exist'],
  method_not_allowed: ['never', 'the path has no such verb'],
  request_timeout: ['data', "the request's timeout passed before the answer began"],
  conflict: ['write', 'something of this name exists already'],
  version_conflict: ['write', 'it was changed by someone else in the meantime'],
  budget_exhausted: ['data', 'a budget is used up'],
  body_too_large: ['body', 'the body is larger than the gateway accepts'],
  unsupported_media_type: ['body', 'the body is not JSON, or its encoding is not known'],
  rate_limited: ['data', 'a rate limit is reached, here or at the provider'],
  guardrail_denied: ['data', 'a guardrail denied the request or the answer'],
  client_closed: ['never', 'the client left'],
  internal: ['every', 'the gateway failed'],
  upstream_status: ['data', 'the provider answered with an error that has no other status'],
  upstream_unreachable: ['data', 'the provider could not be reached'],
  upstream_interrupted: ['data', 'the provider broke off'],
  upstream_garbage: ['data', 'the provider answered what cannot be read'],
  upstream_timeout: ['data', 'the provider did not answer in time'],
  circuit_open: ['data', 'the target failed too often and is left alone for a while'],
  overloaded: ['every', 'the gateway is at its limit of calls in flight'],
  store_unavailable: ['every', 'a store does not answer'],
  key_set_unavailable: ['every', "the key set that the caller's token is verified with cannot be fetched"],
  secret_unavailable: ['data', "a credential cannot be read from the organisation's secret manager"],
};

const reasons = Object.keys(REASONS) as Reason[];
const PLANES = [
  { plane: Plane.DATA, name: 'Data' },
  { plane: Plane.CONTROL, name: 'Control' },
] as const;

/** The listener's, before there is an operation: the request's head is over its limit. */
const TOO_LONG = '431';

/** The error responses of an operation, by status, as references. */
export function errorResponsesOf(route: Route): { [status: string]: Json } {
  const statuses = new Set(reasons.filter((reason) => occurs(reason, route)).map(statusOf));
  const out = Object.fromEntries(
    [...statuses].sort().map((status): [string, Json] => [status, errorRef(route.plane, status)]),
  );
  out[TOO_LONG] = { $ref: '#/components/responses/HeadersTooLarge' };
  return route.plane === Plane.DATA ? { ...out, default: errorRef(Plane.DATA, 'Provider') } : out;
}

/** A reference to the error response of a plane. */
export function errorRef(plane: Plane, status: string): Json {
  const name = PLANES.find((candidate) => candidate.plane === plane)?.name ?? 'Data';
  return { $ref: `#/components/responses/${name}Error${status}` };
}

/** The error responses that paths refer to, as components. */
export function errorResponses(paths: Json): { [name: string]: Json } {
  const text = JSON.stringify(paths);
  const all = PLANES.flatMap(({ plane, name }) => {
    const here = reasons.filter((reason) => plane === Plane.DATA || REASONS[reason][0] !== 'data');
    const statuses = [...new Set(here.filter((reason) => REASONS[reason][0] !== 'never').map(statusOf))];
    return statuses.map((status): [string, Json] => {
      const lines = here
        .filter((reason) => statusOf(reason) === status && REASONS[reason][0] !== 'never')
        .map((reason) => `- \`${codeOf(reason, plane)}\`: ${REASONS[reason][1]}`);
      return [`${name}Error${status}`, responseOf(plane, `By \`${where(plane)}\`:\n\n${lines.join('\n')}`)];
    });
  });
  const provider =
    "The provider's own status, its error wrapped in the gateway's shape with the provider named.";
  const named: [string, Json][] = [
    ...all,
    ['DataErrorProvider', responseOf(Plane.DATA, provider)],
    ['HeadersTooLarge', tooLong()],
  ];
  return sorted(named.filter(([name]) => text.includes(`"#/components/responses/${name}"`)));
}

/** The schemas of both shapes. */
export function errorSchemas(): { [name: string]: Schema } {
  const text = { type: 'string' };
  const common = {
    error: {
      type: 'object',
      description: "The error as OpenAI's SDKs read it.",
      properties: {
        message: text,
        type: text,
        param: { type: ['string', 'null'], description: 'The member or header at fault.' },
        code: { ...text, description: "The reason, or the provider's own code." },
      },
      required: ['message', 'type', 'param', 'code'],
    },
    provider: { ...text, description: 'The provider that answered or failed.' },
    errors: {
      type: 'array',
      description: 'Every violated rule.',
      items: {
        type: 'object',
        properties: { field: text, rule: text, message: text },
        required: ['field', 'rule', 'message'],
      },
    },
  };
  const listed = {
    anyOf: [common.error, { ...text, description: 'Of list prices: the message alone.' }],
  };
  const codes = [...new Set(reasons.map((reason) => fail(reason, '').abCode))].sort();
  return {
    ControlPlaneError: {
      type: 'object',
      description: 'An error of the control plane.',
      properties: {
        success: { const: false },
        data: {
          type: 'object',
          properties: { message: text, errorCode: { ...text, enum: codes } },
          required: ['message', 'errorCode'],
        },
        ...common,
        error: listed,
      },
      required: ['success', 'data', 'error'],
    },
    DataPlaneError: {
      type: 'object',
      description: 'An error of the data plane; inside a stream, the last event.',
      properties: { status: { const: 'failure' }, message: text, ...common },
      required: ['status', 'message', 'error'],
    },
  };
}

function occurs(reason: Reason, route: Route): boolean {
  const data = route.plane === Plane.DATA;
  switch (REASONS[reason][0]) {
    case 'every':
      return true;
    case 'body':
      return route.hasBody;
    case 'data':
      return data;
    case 'named':
      // Bodies of the control plane name resources, too, and some paths a resource that may not be there.
      return !data || route.template.fields.length > 0;
    case 'write':
      return !data && route.verb !== 'GET';
    case 'never':
      return false;
  }
}

function responseOf(plane: Plane, description: string): Json {
  const schema = plane === Plane.CONTROL ? 'ControlPlaneError' : 'DataPlaneError';
  return {
    description,
    headers: { 'x-gateway-request-id': { $ref: '#/components/headers/RequestId' } },
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
  };
}

/** It has no request id, because the request never became a call. */
function tooLong(): Json {
  const { headers: _, ...response } = responseOf(
    Plane.DATA,
    'By `error.code`:\n\n- `headers_too_large`: the address and the headers are larger than the gateway accepts',
  );
  return response;
}

function statusOf(reason: Reason): string {
  return String(fail(reason, '').status);
}

function codeOf(reason: Reason, plane: Plane): string {
  return plane === Plane.CONTROL ? `${fail(reason, '').abCode} ${reason}` : reason;
}

function where(plane: Plane): string {
  return plane === Plane.CONTROL ? 'data.errorCode` and `error.code' : 'error.code';
}
