// The members that both views of a stored provider share: its name, note, limits, expiry and tags.
import type { RateLimitChoice, UsageLimit } from '../../../gen/gateway/common/v2/limits_pb.ts';
import type { ProviderBody } from '../../access/providers/provider-collections.ts';
import { invalidField } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import { COMMON_UNITS, rateLimitsJson, usageLimitJson } from '../kit/limits.ts';
import { defined, type Patch } from '../kit/patch.ts';
import { changedTags, tagged } from '../kit/tags.ts';
import { readTime } from '../kit/time.ts';

/** The members that requests of both views have. */
export interface GivenTerms {
  readonly note?: string | undefined;
  readonly usageLimits?: UsageLimit | undefined;
  readonly rateLimits?: RateLimitChoice | undefined;
  readonly expiresAt?: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  readonly rawPaths?: string | undefined;
}

export interface ChangedTerms extends GivenTerms {
  readonly name?: string | undefined;
  readonly resetUsage?: boolean | undefined;
}

/** The members that an update may remove. */
export const CLEARABLE_TERMS = ['note', 'usage_limits', 'rate_limits', 'expires_at', 'tags', 'raw_paths'];

/** The terms of a stored provider to be. @param at Unix milliseconds. @throws GatewayError validation_failed. */
export function newTerms(given: GivenTerms, at: number): Partial<ProviderBody> {
  const rates = ratesOf(given.rateLimits);
  return defined<Partial<ProviderBody>>({
    note: given.note,
    usageLimits: given.usageLimits && usageLimitJson(given.usageLimits, 'usage_limits', at),
    rateLimits: rates !== undefined && rates.length > 0 ? rates : undefined,
    expiresAt: given.expiresAt === undefined ? undefined : expiry(given.expiresAt, at),
    rawPaths: given.rawPaths as ProviderBody['rawPaths'],
    ...tagged(given.tags),
  });
}

/** The body after an update of its terms, its credentials left out. @param at Unix milliseconds. @throws GatewayError validation_failed. */
export function changedTerms(
  body: ProviderBody,
  given: ChangedTerms,
  fields: Patch,
  at: number,
): ProviderBody {
  const rates = ratesOf(given.rateLimits);
  const { expiresAt } = given;
  return defined<ProviderBody>({
    aiProviderId: body.aiProviderId,
    integrationId: body.integrationId,
    name: fields.always('name', given.name, body.name),
    note: fields.optional('note', given.note, body.note),
    usageLimits: fields.optional(
      'usage_limits',
      given.usageLimits && usageLimitJson(given.usageLimits, 'usage_limits', at, body.usageLimits),
      body.usageLimits,
    ),
    // An empty list takes them away.
    rateLimits: rates?.length === 0 ? undefined : fields.optional('rate_limits', rates, body.rateLimits),
    expiresAt: fields.optional(
      'expires_at',
      expiresAt === undefined ? undefined : expiry(expiresAt, at),
      body.expiresAt,
    ),
    usageResetAt: given.resetUsage === true ? at : body.usageResetAt,
    rawPaths: fields.optional('raw_paths', given.rawPaths as ProviderBody['rawPaths'], body.rawPaths),
    ...changedTags(body, given.tags, fields.cleared('tags')),
  });
}

function ratesOf(choice: RateLimitChoice | undefined): readonly JsonObject[] | undefined {
  switch (choice?.value.case) {
    case 'one':
      return rateLimitsJson([choice.value.value], 'rate_limits', COMMON_UNITS);
    case 'many':
      return rateLimitsJson(choice.value.value.values, 'rate_limits', COMMON_UNITS);
    default:
      return undefined;
  }
}

function expiry(text: string, at: number): number {
  const expiresAt = readTime('expires_at', text);
  if (expiresAt <= at) throw invalidField('expires_at', 'must be in the future');
  return expiresAt;
}
