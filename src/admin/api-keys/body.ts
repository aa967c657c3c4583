// The parts of a key apart from its secret, made of what callers ask for.
import type {
  ApiKeyDefaults,
  ApiKeyDefaultsChange,
  CreateApiKeyRequest,
  UpdateApiKeyRequest,
} from '../../../gen/gateway/admin/v2/api_keys_pb.ts';
import { RateLimitUnit } from '../../../gen/gateway/common/v2/limits_pb.ts';
import type { ApiKeyBody } from '../../access/identity-collections.ts';
import { checkScopes, type KeyDetails } from '../../access/keys.ts';
import type { KeyKind } from '../../call/principal.ts';
import { invalidField } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import { COMMON_UNITS, rateLimitsJson, usageLimitJson } from '../kit/limits.ts';
import { defined, patch } from '../kit/patch.ts';
import { changedExpiry, type KeyTerms, newExpiry } from './expiry.ts';
import { rotationOf } from './rotation.ts';

const UNITS = [...COMMON_UNITS, RateLimitUnit.RPS, RateLimitUnit.RPW];

/** The key to be. @param at Unix milliseconds. @throws GatewayError validation_failed. */
export function newDetails(
  kind: KeyKind,
  userId: string | undefined,
  request: CreateApiKeyRequest,
  terms: KeyTerms,
  at: number,
): KeyDetails {
  checkScopes(kind, request.scopes);
  return defined<KeyDetails>({
    name: request.name,
    description: request.description,
    kind,
    userId,
    scopes: request.scopes,
    bootstrap: undefined,
    creationMode: 'api',
    ...newExpiry(terms, request.expiresAt, at),
    rotation: request.rotationPolicy && rotationOf(request.rotationPolicy, at),
    rateLimits: nonEmpty(rateLimitsJson(request.rateLimits, 'rate_limits', UNITS)),
    usageLimits: request.usageLimits && usageLimitJson(request.usageLimits, 'usage_limits', at),
    usageResetAt: undefined,
    defaults: request.defaults && defaultsJson(request.defaults),
    alertEmails: nonEmpty(request.alertEmails),
  });
}

const CLEARABLE = [
  'description',
  'rate_limits',
  'usage_limits',
  'defaults',
  'alert_emails',
  'expires_at',
  'rotation_policy',
];

/** The body after an update. @param at Unix milliseconds. @throws GatewayError validation_failed. */
export function changedBody(
  body: ApiKeyBody,
  request: UpdateApiKeyRequest,
  terms: KeyTerms,
  at: number,
): ApiKeyBody {
  if (request.clear.includes('scopes')) throw invalidField('scopes', 'must name at least one scope');
  const fields = patch(request.clear, CLEARABLE);
  checkScopes(body.kind, request.scopes);
  const { expiresAt, expiryEnforced } = body;
  return defined<ApiKeyBody>({
    ...body,
    name: fields.always('name', request.name, body.name),
    description: fields.optional('description', request.description, body.description),
    scopes: request.scopes.length > 0 ? request.scopes : body.scopes,
    ...changedExpiry(
      terms,
      request.expiresAt,
      fields.cleared('expires_at'),
      { expiresAt, expiryEnforced },
      at,
    ),
    rotation: fields.optional(
      'rotation_policy',
      request.rotationPolicy && rotationOf(request.rotationPolicy, at),
      body.rotation,
    ),
    rateLimits: fields.list(
      'rate_limits',
      rateLimitsJson(request.rateLimits, 'rate_limits', UNITS),
      body.rateLimits,
    ),
    usageLimits: fields.optional(
      'usage_limits',
      request.usageLimits && usageLimitJson(request.usageLimits, 'usage_limits', at, body.usageLimits),
      body.usageLimits,
    ),
    usageResetAt: request.resetUsage === true ? at : body.usageResetAt,
    defaults: fields.cleared('defaults') ? undefined : changedDefaults(body.defaults, request.defaults),
    alertEmails: fields.list('alert_emails', request.alertEmails, body.alertEmails),
  });
}

function changedDefaults(
  before: JsonObject | undefined,
  change: ApiKeyDefaultsChange | undefined,
): JsonObject | undefined {
  if (change === undefined) return before;
  patch(change.clear, ['metadata', 'config_id', 'allow_config_override']);
  const kept = Object.entries(before ?? {}).filter(([name]) => !change.clear.includes(name));
  const defaults = { ...Object.fromEntries(kept), ...defaultsJson(change) };
  return Object.keys(defaults).length > 0 ? defaults : undefined;
}

/** Only the members that the caller gave. */
function defaultsJson(given: ApiKeyDefaults | ApiKeyDefaultsChange): JsonObject | undefined {
  const { metadata, configId, allowConfigOverride } = given;
  const json = defined<JsonObject>({
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
    config_id: configId,
    allow_config_override: allowConfigOverride,
  });
  return Object.keys(json).length > 0 ? json : undefined;
}

function nonEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length > 0 ? list : undefined;
}
