// Validates the certificates, the key and the proxy of an integration's network. No refusal
// repeats what was given.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { readCertificates } from '../../lib/egress/authorities.ts';
import { type GatewayError, invalidField } from '../../lib/errors.ts';

const MASK = '*****';
const KEY =
  /-----BEGIN (?:RSA |EC )?PRIVATE KEY-----[A-Za-z0-9+/=\s]+-----END (?:RSA |EC )?PRIVATE KEY-----/g;
const CREDENTIALS = /^(https?:\/\/)[^/]*@/i;

/** The field of a network's member, for refusals. */
export const networkField = (name: string): string => `network.${name}`;

const wrong = (name: string, message: string): GatewayError => invalidField(networkField(name), message);

/** The certificates alone, without text around them. @throws GatewayError validation_failed. */
export function certificatesOf(name: string, pem: string, most: number): string {
  let blocks: readonly string[];
  try {
    blocks = readCertificates(pem, 'it');
  } catch {
    throw wrong(name, 'must be one or more X.509 certificates in PEM');
  }
  if (blocks.length > most) throw wrong(name, `must be ${most} certificates at the most`);
  return `${blocks.join('\n')}\n`;
}

/** The key alone. @throws GatewayError validation_failed. */
export function privateKeyOf(pem: string): string {
  const found = pem.match(KEY) ?? [];
  if (found.length !== 1 || readKey(found[0]!) === undefined)
    throw wrong('client_key', 'must be one private key in PEM that is not encrypted');
  return `${found[0]}\n`;
}

/** That a certificate has a key, that they belong together, and that TLS takes them. @throws GatewayError validation_failed. */
export function checkProof(certificate: string | undefined, key: string | undefined): void {
  if (certificate === undefined && key === undefined) return;
  if (certificate === undefined) throw wrong('client_certificate', 'is required with client_key');
  if (key === undefined) throw wrong('client_key', 'is required with client_certificate');
  const read = readKey(key);
  if (read === undefined || !new X509Certificate(certificate).checkPrivateKey(read))
    throw wrong('client_key', 'is not the key of client_certificate');
  try {
    createSecureContext({ cert: certificate, key });
  } catch {
    throw wrong('client_certificate', 'is not one that TLS takes: its key may be too short');
  }
}

/** The shown form of a proxy's URL. @throws GatewayError validation_failed, host_refused by `checkHost`. */
export function proxyShown(text: string, checkHost: (url: string, param: string) => void): string {
  const url = /^[\x21-\x7e]+$/.test(text) ? URL.parse(text) : null;
  const isPlain =
    url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search + url.hash === '';
  if (!isPlain || /[?#]/.test(text))
    throw wrong('proxy_url', 'must be http:// or https:// with a host and a port alone');
  if (!areReadable(url)) throw wrong('proxy_url', 'has credentials that cannot be read');
  if (url.username === MASK) throw wrong('proxy_url', 'is masked: give the whole URL');
  checkHost(text.replace(CREDENTIALS, '$1'), networkField('proxy_url'));
  const isSecret = url.username !== '' || url.password !== '';
  return `${url.protocol}//${isSecret ? `${MASK}@` : ''}${url.host}`;
}

function readKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

function areReadable({ username, password }: URL): boolean {
  try {
    // A colon ends the name (RFC 7617, part 2).
    return !decodeURIComponent(username).includes(':') && decodeURIComponent(password) !== undefined;
  } catch {
    return false;
  }
}
