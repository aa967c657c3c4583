// Providers that repeat the credential that they were sent: a caller of a stored provider must not learn it, and no
// log keeps it.
import { isSecretName, MASKED } from '../../access/audit/secrets.ts';
import { GatewayError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/raw-json.ts';
import { MOST_TEXT, toolSecrets } from '../../lib/tool-secrets.ts';
import type { Target } from '../../providers/dialect.ts';

/** Shorter ones are ordinary words, used in tests only. */
const SHORTEST = 8;

/**
 * The error with the target's credentials masked wherever its words repeat them, and those that the request hands to
 * tool servers; the same one when they do not.
 * @param body of the request
 */
export function withoutCredential(
  error: GatewayError,
  target: Target,
  body?: string | Uint8Array | undefined,
): GatewayError {
  const forTools = body === undefined || body.length > 3 * MOST_TEXT ? [] : toolSecrets(jsonText(body));
  const { message, details } = error;
  // Words that may be a credential of too many are not repeated at all.
  if (forTools === undefined) return wordless(error);
  const secrets = [...secretsOf(target), ...forTools.filter(({ length }) => length >= SHORTEST)];
  const { type, code, param } = details;
  const texts = [message, type, code, param];
  if (!texts.some((text) => text !== undefined && secrets.some((secret) => text.includes(secret))))
    return error;
  const clean = (text: string): string =>
    secrets.reduce((left, secret) => left.replaceAll(secret, MASKED), text);
  return new GatewayError(error.reason, clean(message), {
    ...details,
    ...(type === undefined ? {} : { type: clean(type) }),
    ...(code === undefined ? {} : { code: clean(code) }),
    ...(param === undefined ? {} : { param: clean(param) }),
  });
}

function wordless({ reason, details, cause }: GatewayError): GatewayError {
  const { type: _type, code: _code, param: _param, ...rest } = details;
  return new GatewayError(
    reason,
    'the call failed, and why is not repeated: its request hands too many credentials to tools',
    { ...rest, cause },
  );
}

/** What of a target is secret, in clear text. */
export function secretsOf({ apiKey, options }: Pick<Target, 'apiKey' | 'options'>): string[] {
  const found = apiKey === undefined ? [] : [apiKey];
  for (const [name, value] of Object.entries(options))
    if (typeof value === 'string' && isSecretName(name)) found.push(value);
  return found.filter((secret) => secret.length >= SHORTEST);
}
