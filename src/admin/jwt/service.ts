// How the organisation's tokens are verified: read, replaced, taken away.
import { create, type JsonObject as ProtoJson } from '@bufbuild/protobuf';
import {
  type DeleteJwtSettingsRequest,
  type DeleteJwtSettingsResponse,
  DeleteJwtSettingsResponseSchema,
  type GetJwtSettingsRequest,
  type JwtSettings,
  JwtSettingsSchema,
  type ReplaceJwtSettingsRequest,
} from '../../../gen/gateway/admin/v2/jwt_pb.ts';
import { JWT_SETTINGS, type JwtSettingsBody, jwtSettings } from '../../access/jwt/collection.ts';
import type { CheckJwksUri } from '../../access/jwt/jwks-uri.ts';
import { readInlineSet } from '../../access/jwt/key-set.ts';
import { DEFAULT_SKEW_SECONDS } from '../../access/jwt/realm.ts';
import type { Call } from '../../call/call.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import type { Document } from '../../store/documents.ts';
import { callerOf, organisationOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { defined } from '../kit/patch.ts';
import { resource, shownAs } from '../kit/resource.ts';
import { LOST_RACE } from '../kit/retry-on-conflict.ts';
import { timeText } from '../kit/time.ts';

/** What the service needs. */
export interface JwtDeps extends Pick<IdentityDeps, 'documents' | 'changes' | 'now'> {
  readonly checkUri: CheckJwksUri;
}

/** Two calls may create an organisation's first settings at once: the second replaces them. */
const LOST = new Set([...LOST_RACE, 'conflict' as const]);

/** The methods of JwtSettingsService. */
export function jwtSettingsService({ checkUri, ...deps }: JwtDeps) {
  const stored = resource(deps, {
    collection: jwtSettings,
    noun: JWT_SETTINGS,
    shown: shownAs(JwtSettingsSchema, settingsRecord),
    targetOf: ({ id }) => ({ id, name: JWT_SETTINGS }),
  });
  const current = (call: Call): Promise<Document<JwtSettingsBody> | undefined> =>
    deps.documents.get(organisationOf(callerOf(call)), jwtSettings, JWT_SETTINGS);

  return withConflictRetries(
    {
      async getJwtSettings(_: GetJwtSettingsRequest, call: Call): Promise<JwtSettings> {
        return settingsRecord(existing(await current(call)));
      },

      async replaceJwtSettings(request: ReplaceJwtSettingsRequest, call: Call): Promise<JwtSettings> {
        const scope = organisationOf(callerOf(call));
        const body = readSettings(request, checkUri);
        const before = await current(call);
        const after = before
          ? await stored.update(call, before, stored.changed(before, body))
          : await stored.create(call, stored.draft(scope, body, { slug: JWT_SETTINGS }));
        return settingsRecord(after);
      },

      async deleteJwtSettings(_: DeleteJwtSettingsRequest, call: Call): Promise<DeleteJwtSettingsResponse> {
        await stored.archive(call, existing(await current(call)));
        return create(DeleteJwtSettingsResponseSchema);
      },
    },
    LOST,
  );
}

function existing(settings: Document<JwtSettingsBody> | undefined): Document<JwtSettingsBody> {
  if (settings === undefined) throw fail('not_found', 'the organisation takes no tokens (JWT)');
  return settings;
}

/** @throws GatewayError validation_failed naming the field, host_refused. */
function readSettings(request: ReplaceJwtSettingsRequest, checkUri: CheckJwksUri): JwtSettingsBody {
  const { jwksUri, jwks, issuers, audiences, algorithms, clockSkewSeconds, claims } = request;
  const { knownUsersOnly } = request;
  if ((jwksUri === undefined) === (jwks === undefined))
    throw invalidField('jwks_uri', 'exactly one of jwks_uri and jwks is needed', 'one_of');
  if (jwksUri !== undefined) checkUri('jwks_uri', jwksUri);
  const keys = jwks === undefined ? undefined : readInlineSet('jwks', jwks).jwks;
  if (issuers.length + audiences.length === 0 && request.anyIssuerAndAudience !== true)
    throw invalidField(
      'issuers',
      'issuers or audiences are needed, or any_issuer_and_audience: true: the keys alone take every token that they sign',
      'required',
    );
  const { workspace, user, role, scopes } = claims ?? {};
  return defined<JwtSettingsBody>({
    jwksUri,
    jwks: keys && { keys },
    issuers,
    audiences,
    algorithms,
    clockSkewSeconds,
    claims: claims && defined({ workspace, user, role, scopes }),
    knownUsersOnly,
    anyParty: request.anyIssuerAndAudience,
  });
}

function settingsRecord({ body, createdAt, updatedAt }: Document<JwtSettingsBody>): JwtSettings {
  const { jwksUri, jwks, issuers, audiences, algorithms, clockSkewSeconds, claims } = body;
  return create(JwtSettingsSchema, {
    object: 'jwt_settings',
    jwksUri,
    jwks: jwks as unknown as ProtoJson | undefined,
    issuers: [...issuers],
    audiences: [...audiences],
    algorithms: [...algorithms],
    clockSkewSeconds: clockSkewSeconds ?? DEFAULT_SKEW_SECONDS,
    claims,
    knownUsersOnly: body.knownUsersOnly ?? false,
    anyIssuerAndAudience: body.anyParty,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
  });
}
