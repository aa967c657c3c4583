// The JSON of an external account (AIP-4117, "Configuration file"), read and checked.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { urlText } from '../../lib/url-text.ts';
import { objectOf, textOf } from '../../providers/json-object.ts';
import { accountError, webAddress } from './google-token.ts';

/** How a subject token stands in its text: as it is, or as a member of JSON. */
export interface Format {
  readonly field: string | undefined;
}

/** Where the subject token comes from. */
export type Source =
  | { readonly kind: 'file'; readonly path: string; readonly format: Format }
  | { readonly kind: 'url'; readonly url: URL; readonly headers: readonly string[]; readonly format: Format }
  | { readonly kind: 'aws'; readonly verification: string };

export interface ExternalAccount {
  readonly audience: string;
  readonly subjectTokenType: string;
  readonly tokens: URL;
  /** Where a service account's token is had for it; undefined: the federated token is used. */
  readonly impersonation: URL | undefined;
  /** Of the service account's token, in seconds. */
  readonly lifetime: number;
  readonly userProject: string | undefined;
  /** Credentials of the client, base64. */
  readonly basic: string | undefined;
  readonly source: Source;
}

const STS = 'https://sts.googleapis.com/v1/token';
const VERIFICATION = 'https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15';
const VERIFICATIONS =
  /^https:\/\/sts\.\{region\}\.amazonaws\.com(?:\.cn)?\/?\?Action=GetCallerIdentity&Version=2011-06-15$/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/;
/** Headers that the connection sends. */
const CONNECTION = /^(?:host|content-length|transfer-encoding|connection|upgrade|te)$/i;
const MOST_HEADERS = 16;

/** @throws GatewayError `invalid_header` naming the member; nothing of it is repeated */
export function readExternal(json: JsonObject): ExternalAccount {
  const [client, secret] = [textOf(json.client_id), textOf(json.client_secret)];
  const impersonated = json.service_account_impersonation_url;
  return {
    audience: required(json.audience, 'audience'),
    subjectTokenType: required(json.subject_token_type, 'subject_token_type'),
    tokens: webAddress(json.token_url ?? STS, 'token_url'),
    impersonation:
      impersonated === undefined || impersonated === null
        ? undefined
        : webAddress(impersonated, 'service_account_impersonation_url'),
    lifetime: lifetimeOf(objectOf(json.service_account_impersonation)?.token_lifetime_seconds),
    userProject: textOf(json.workforce_pool_user_project),
    basic:
      client === undefined || secret === undefined
        ? undefined
        : Buffer.from(`${urlText(client)}:${urlText(secret)}`).toString('base64'),
    source: sourceOf(objectOf(json.credential_source) ?? {}),
  };
}

function required(value: JsonValue | undefined, member: string): string {
  const text = textOf(value);
  if (text === undefined || text === '' || text.length > 2048) throw accountError(`must have ${member}`);
  return text;
}

/** Google lets a token live for 600 to 43200 seconds. */
function lifetimeOf(value: JsonValue | undefined): number {
  if (value === undefined || value === null) return 3600;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 600 && value <= 43_200) return value;
  throw accountError('service_account_impersonation.token_lifetime_seconds must be from 600 to 43200');
}

function sourceOf(source: JsonObject): Source {
  const environment = textOf(source.environment_id);
  if (environment !== undefined) return awsSource(environment, source);
  const path = textOf(source.file);
  if (path !== undefined) return { kind: 'file', path, format: formatOf(source) };
  if (source.url !== undefined) {
    const url = webAddress(source.url, 'credential_source.url');
    return { kind: 'url', url, headers: headersOf(source.headers), format: formatOf(source) };
  }
  throw accountError('credential_source must have file, url or environment_id: commands are never run');
}

/** The metadata services that its other members name are never asked: the environment has the keys. */
function awsSource(environment: string, source: JsonObject): Source {
  if (environment !== 'aws1') throw accountError('credential_source.environment_id must be aws1');
  const verification = textOf(source.regional_cred_verification_url) ?? VERIFICATION;
  // It is signed with the process's keys, and must be of use for nothing else.
  if (!VERIFICATIONS.test(verification))
    throw accountError(`credential_source.regional_cred_verification_url must be ${VERIFICATION}`);
  return { kind: 'aws', verification };
}

function formatOf(source: JsonObject): Format {
  const format = objectOf(source.format);
  const type = textOf(format?.type) ?? 'text';
  if (type === 'text') return { field: undefined };
  const field = textOf(format?.subject_token_field_name);
  if (type === 'json' && field !== undefined) return { field };
  throw accountError('credential_source.format must be text, or json with subject_token_field_name');
}

function headersOf(value: JsonValue | undefined): readonly string[] {
  const pairs = Object.entries(objectOf(value) ?? {});
  const isFine = ([name, text]: [string, JsonValue]): boolean =>
    NAME.test(name) && !CONNECTION.test(name) && typeof text === 'string' && VALUE.test(text);
  if (pairs.length > MOST_HEADERS || !pairs.every(isFine))
    throw accountError(`credential_source.headers must be at most ${MOST_HEADERS} headers`);
  return pairs.flatMap(([name, text]) => [name.toLowerCase(), String(text)]);
}
