// Signatures by the library of AWS's own SDK. Loaded late: most gateways sign nothing.
import { Hash } from '@smithy/core/serde';
import { SignatureV4 } from '@smithy/signature-v4';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of credentials that end. */
  readonly sessionToken?: string | undefined;
}

export interface SignOrder {
  readonly method: string;
  /** Its query may have at most 256 parameters. */
  readonly url: URL;
  /** Headers to sign, by lower-case name, in addition to host and date. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  readonly region: string;
  /** The path is escaped once more, as every service but `s3` wants it. */
  readonly service: string;
  readonly credentials: AwsCredentials;
  /** Unix milliseconds. */
  readonly at: number;
}

/** @returns headers as flat pairs, without host */
export async function sign({ url, service, at, ...order }: SignOrder): Promise<string[]> {
  const { method, body, region, credentials } = order;
  const signer = new SignatureV4({
    service,
    region,
    credentials,
    sha256: Sha256,
    uriEscapePath: service !== 's3',
    // A header `x-amz-content-sha256` is signed where it is given, and never added.
    applyChecksum: false,
  });
  const { headers } = await signer.sign(
    {
      method,
      body,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: queryOf(url),
      headers: { ...order.headers, host: url.host },
    },
    { signingDate: new Date(at) },
  );
  const { host: _, ...sent } = headers;
  return Object.entries(sent).flat();
}

/** The values of each name. */
function queryOf({ searchParams }: URL): Record<string, string[]> {
  const query = new Map<string, string[]>();
  for (const [name, value] of searchParams) {
    const values = query.get(name);
    if (values === undefined) query.set(name, [value]);
    else values.push(value);
  }
  return Object.fromEntries(query);
}

/** With a secret, the HMAC. */
class Sha256 extends Hash {
  constructor(secret?: ConstructorParameters<typeof Hash>[1]) {
    super('sha256', secret);
  }
}
