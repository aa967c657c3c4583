// Oracle Cloud's request signature ("Request Signatures"): RSA over the date, the target, the host and the body's digest.
// http-signature, which implements the draft that it follows, signs requests of node:http only.
import { createPrivateKey, hash, type KeyObject, sign } from 'node:crypto';
import { headerIn } from '../../lib/egress/header-pairs.ts';
import type { OutboundRequest } from '../../lib/egress/outbound.ts';
import { LruCache } from '../../lib/lru-cache.ts';
import type { ProviderEntry, Target } from '../../providers/dialect.ts';
import { optionError } from '../../providers/options/named.ts';
import type { Identity, Proof } from './identity.ts';
import { wholeBody } from './whole-body.ts';

const KEYS = 256;
/** Identifiers go into a quoted text of the header. */
const IDENTIFIER = /^[A-Za-z0-9._:-]{1,255}$/;
const OWN = ['oracle_tenancy', 'oracle_user', 'oracle_fingerprint'] as const;
/** Headers of a signature with a body, in its order; those of one without are the first three. */
const WITHOUT_BODY = 3;

/** Signs each request with the key of `oracle_private_key` (PEM). */
export function oracleSigner(now: () => number): Identity {
  const keys = new LruCache<KeyObject>(KEYS);
  return ({ target }, request) => {
    const { options, provider } = target;
    const keyId = keyIdOf(target);
    const { oracle_private_key: pem, oracle_key_passphrase: passphrase } = options;
    if (!pem) throw optionError(provider, 'oracle_private_key', 'is required for oracle');
    const digest = hash('sha256', `${passphrase ?? ''}\n${pem}`, 'base64url');
    const key = keys.get(digest) ?? readKey(provider, pem, passphrase);
    keys.set(digest, key);
    return proofOf(request, keyId, key, now());
  };
}

function keyIdOf({ provider, options }: Target): string {
  return OWN.map((name) => {
    const value = options[name] ?? '';
    if (!IDENTIFIER.test(value))
      throw optionError(
        provider,
        name,
        value === '' ? 'is required for oracle' : 'must be an identifier of Oracle Cloud',
      );
    return value;
  }).join('/');
}

/** Headers and environments carry PEM with its line feeds escaped. */
function readKey(provider: ProviderEntry, pem: string, passphrase: string | undefined): KeyObject {
  try {
    const key = createPrivateKey({
      key: pem.replaceAll('\\n', '\n'),
      format: 'pem',
      passphrase: passphrase || undefined,
    });
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // What the library says could repeat the key.
  }
  throw optionError(provider, 'oracle_private_key', 'must be an RSA key in PEM that its passphrase opens');
}

async function proofOf(request: OutboundRequest, keyId: string, key: KeyObject, at: number): Promise<Proof> {
  const body = Buffer.from(await wholeBody(request.body));
  const hasBody = request.method === 'POST' || request.method === 'PUT' || request.method === 'PATCH';
  const date = new Date(at).toUTCString();
  const lines: readonly (readonly [string, string])[] = [
    ['date', date],
    ['(request-target)', `${request.method.toLowerCase()} ${request.path}`],
    ['host', new URL(request.origin).host],
    ['content-length', String(body.length)],
    ['content-type', headerIn(request.headers, 'content-type') ?? 'application/json'],
    ['x-content-sha256', hash('sha256', body, 'base64')],
  ];
  const signedLines = hasBody ? lines : lines.slice(0, WITHOUT_BODY);
  const text = signedLines.map(([name, value]) => `${name}: ${value}`).join('\n');
  const signature = await signed(text, key);
  const names = signedLines.map(([name]) => name).join(' ');
  const authorization = `Signature version="1",keyId="${keyId}",algorithm="rsa-sha256",headers="${names}",signature="${signature}"`;
  const digest = hasBody ? ['x-content-sha256', lines[5]![1]] : [];
  const type = hasBody ? ['content-type', lines[4]![1]] : [];
  return { headers: ['date', date, ...type, ...digest, 'authorization', authorization], body };
}

/** Off the event loop: a signature takes about a millisecond. */
function signed(text: string, key: KeyObject): Promise<string> {
  return new Promise((resolve, reject) =>
    sign('sha256', Buffer.from(text), key, (error, signature) =>
      error ? reject(error) : resolve(signature.toString('base64')),
    ),
  );
}
