// The login of a secret reference: as callers write it, as it is stored, and as it is shown.
import { keyMask } from '../../access/key-hash.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { ADDRESS_FIELDS, checkedAuth, MASKED_FIELDS } from '../../secrets/auth-rules.ts';
import type { AuthConfig, ManagerType } from '../../secrets/manager.ts';
import type { Secrets } from '../../secrets/secrets.ts';
import type { Json, JsonObject } from '../../store/collection.ts';

export interface SecretAuthDeps {
  /** Refuses addresses that may never be called. @throws GatewayError host_refused */
  readonly checkHost: (url: string, param: string) => void;
  readonly secrets: Pick<Secrets, 'closedFault'>;
}

const SHOWN = 'masked_';
const ACCOUNT = 'gcp_service_account_json';
const LONGEST = 16_384;
const PRINTABLE = /^[\x20-\x7e]+$/;

const field = (name: string): string => (name === '' ? 'auth_config' : `auth_config.${name}`);

/**
 * The login after `given` is merged into the stored one.
 * @param path the secret's name in its manager, which may be closed too
 * @throws GatewayError validation_failed, host_refused; each names the member.
 */
export function authOf(
  { checkHost, secrets }: SecretAuthDeps,
  manager: ManagerType,
  path: string,
  given: JsonObject,
  before: AuthConfig = {},
): AuthConfig {
  const merged = new Map(Object.entries(before));
  const written = new Set<string>();
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith(SHOWN)) {
      checkUnchanged(name, value, before);
    } else if (value === null) {
      merged.delete(name);
    } else {
      merged.set(name, textOf(name, value));
      written.add(name);
    }
  }
  const checked = checkedAuth(manager, Object.fromEntries(merged), written);
  if ('fault' in checked) throw invalidField(field(checked.fault.field), checked.fault.message);
  const { auth } = checked;
  for (const name of ADDRESS_FIELDS) checkAddress(checkHost, name, auth[name]);
  checkGivenAgain(auth, before, written);
  const closed = secrets.closedFault(manager, auth, path);
  if (closed !== undefined) throw invalidField(closed.field, closed.message, 'closed');
  return auth;
}

/** A credential was given for an address: who changes the one and never saw the other must not get it sent there. */
function checkGivenAgain(auth: AuthConfig, before: AuthConfig, written: ReadonlySet<string>): void {
  const moved = ADDRESS_FIELDS.some(
    (name) =>
      before[name] !== undefined &&
      auth[name] !== undefined &&
      originOf(auth[name]) !== originOf(before[name]),
  );
  if (!moved) return;
  const kept = Object.keys(auth).find((name) => MASKED_FIELDS.has(name) && !written.has(name));
  if (kept !== undefined)
    throw invalidField(
      field(kept),
      'must be given again: the address that it is sent to is another',
      'required',
    );
}

const originOf = (text: string): string => URL.parse(text)?.origin ?? text;

/** The login without its credentials. */
export function shownAuth(auth: AuthConfig): JsonObject {
  return Object.fromEntries(
    Object.entries(auth).map(([name, text]) =>
      MASKED_FIELDS.has(name) ? [`${SHOWN}${name}`, maskOf(name, text)] : [name, text],
    ),
  );
}

/** The beginning and end of a key file say nothing: all begin and end alike. */
function maskOf(name: string, text: string): string {
  return name === ACCOUNT ? '*****' : keyMask(text);
}

/** A shown value that is written back means no change. */
function checkUnchanged(shown: string, value: Json, before: AuthConfig): void {
  const name = shown.slice(SHOWN.length);
  const text = Object.hasOwn(before, name) ? before[name] : undefined;
  if (text === undefined || !MASKED_FIELDS.has(name) || value !== maskOf(name, text))
    throw invalidField(field(shown), `is only shown: give ${name}`);
}

function textOf(name: string, value: Json): string {
  const text = name === ACCOUNT && typeof value === 'object' ? JSON.stringify(value) : value;
  if (typeof text !== 'string') throw invalidField(field(name), 'must be a text', 'type');
  if (text.length > LONGEST) throw invalidField(field(name), `must be ${LONGEST} characters at the most`);
  if (text !== '' && name !== ACCOUNT && !PRINTABLE.test(text))
    throw invalidField(field(name), 'must be printable characters');
  return text;
}

function checkAddress(checkHost: SecretAuthDeps['checkHost'], name: string, text: string | undefined): void {
  if (text === undefined) return;
  checkHost(text, field(name));
  const url = new URL(text);
  if (url.pathname !== '/' || url.search !== '')
    throw fail('host_refused', `${field(name)}: must be a scheme, a host and a port alone`, {
      param: field(name),
    });
}
