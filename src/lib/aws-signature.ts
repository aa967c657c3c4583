// AWS Signature Version 4, for requests whose body is at hand:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
import { createHmac, hash } from 'node:crypto';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of credentials that end. */
  readonly sessionToken?: string | undefined;
}

export interface SignOrder {
  readonly method: string;
  readonly url: URL;
  /** Headers to sign, by lower-case name, in addition to host and date. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  readonly region: string;
  readonly service: string;
  readonly credentials: AwsCredentials;
  /** Unix milliseconds. */
  readonly at: number;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** The given headers, the date and the signature as flat pairs; host is the connection's to send. */
export function signed(order: SignOrder): string[] {
  const { method, url, body, region, service, credentials } = order;
  const time = new Date(order.at).toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const sent: Readonly<Record<string, string>> = {
    ...order.headers,
    'x-amz-date': time,
    ...(credentials.sessionToken === undefined ? {} : { 'x-amz-security-token': credentials.sessionToken }),
  };
  const all = Object.entries({ ...sent, host: url.host }).sort(([a], [b]) => (a < b ? -1 : 1));
  const names = all.map(([name]) => name).join(';');
  const canonical = [
    method,
    // Every service but S3 wants the path's segments escaped once more.
    url.pathname.split('/').map(encoded).join('/'),
    queryOf(url),
    ...all.map(([name, value]) => `${name}:${value.trim().replaceAll(/ +/g, ' ')}`),
    '',
    names,
    sha256(body),
  ].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const text = [ALGORITHM, time, scope, sha256(canonical)].join('\n');
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${credentials.secretAccessKey}`,
  );
  const signature = hmac(key, text).toString('hex');
  const authorization = `${ALGORITHM} Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return [...Object.entries(sent).flat(), 'authorization', authorization];
}

function queryOf(url: URL): string {
  return [...url.searchParams]
    .map(([name, value]) => [encoded(name), encoded(value)] as const)
    .sort(([a, x], [b, y]) => (a === b ? (x < y ? -1 : 1) : a < b ? -1 : 1))
    .map((pair) => pair.join('='))
    .join('&');
}

/** RFC 3986: encodeURIComponent leaves five characters that AWS encodes, one of them a reserved one of ours. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
