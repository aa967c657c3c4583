// An API key as callers are shown it: never its secret, and never the hash of it.
import { create } from '@bufbuild/protobuf';
import {
  type ApiKey,
  ApiKeyDefaultsSchema,
  ApiKeySchema,
} from '../../../gen/gateway/admin/v2/api_keys_pb.ts';
import type { ApiKeyBody, KeySecret } from '../../access/identity-collections.ts';
import type { Usage, UsageReader } from '../../ledger/limits/usage.ts';
import { codec } from '../../rest/codec.ts';
import type { Document } from '../../store/documents.ts';
import { rateLimitOf, usageLimitOf } from '../kit/limits.ts';
import { timeText } from '../kit/time.ts';
import { rotationSchedule } from './rotation.ts';

/** The usage of a key's budget; undefined: it has none, or the usage is unknown. */
export async function keyUsage(
  reader: UsageReader,
  { id, organisationId, body }: Document<ApiKeyBody>,
): Promise<Usage | undefined> {
  const { usageLimits, usageResetAt } = body;
  return usageLimits && reader.readLimit(organisationId, `key:${id}`, usageLimits, usageResetAt);
}

/** A key's record for callers. @param now Unix milliseconds: passed times show. */
export function apiKeyRecord(document: Document<ApiKeyBody>, now: number, usage?: Usage): ApiKey {
  const { id, organisationId, workspaceId, createdAt, updatedAt, body } = document;
  const { usageLimits, rotation, previous } = body;
  return create(ApiKeySchema, {
    id,
    key: shownSecret(body),
    name: body.name,
    ...given('description', body.description),
    type: body.kind,
    organisationId,
    ...given('workspaceId', workspaceId),
    ...given('userId', body.userId),
    status: isExpired(body, now) ? 'expired' : usage?.exhausted ? 'exhausted' : 'active',
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
    creationMode: body.creationMode ?? 'api',
    rateLimits: (body.rateLimits ?? []).map(rateLimitOf),
    ...(usageLimits === undefined ? {} : { usageLimits: usageLimitOf(usageLimits, usage) }),
    ...given('expiresAt', time(body.expiresAt)),
    ...given('lastResetAt', time(usage === undefined ? body.usageResetAt : usage.lastResetAt)),
    alertEmails: [...(body.alertEmails ?? [])],
    expiryEnforced: body.expiryEnforced ? 1 : 0,
    ...given(
      'nextUsageResetAt',
      time(usage?.nextResetAt) ?? (usageLimits?.next_usage_reset_at as string | undefined),
    ),
    ...defaultsOf(body),
    scopes: [...body.scopes],
    ...(rotation === undefined ? {} : { rotationPolicy: rotationSchedule(rotation, now) }),
    ...(inTransition(body, now) ? given('keyTransitionExpiresAt', time(previous?.until)) : {}),
    object: 'api-key',
  });
}

/** A secret's shown form. Keys that are older than masks have only its beginning. */
export function shownSecret({ mask, hint }: KeySecret): string {
  return mask ?? `${hint.slice(0, 2)}*****`;
}

export function isExpired({ expiresAt }: ApiKeyBody, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

/** Whether the secret before the last rotation still works. */
export function inTransition({ previous }: ApiKeyBody, now: number): boolean {
  return previous !== undefined && previous.until > now;
}

function defaultsOf({ defaults }: ApiKeyBody) {
  if (defaults === undefined) return {};
  const shown = codec.decode(ApiKeyDefaultsSchema, defaults);
  const override = shown.allowConfigOverride;
  shown.allowConfigOverride = override ?? true;
  return { defaults: shown, ...(override === undefined ? {} : { allowConfigOverride: override ? 1 : 0 }) };
}

function time(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : timeText(ms);
}

function given<N extends string>(name: N, value: string | undefined): { [K in N]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { [K in N]?: string });
}
