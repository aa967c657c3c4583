// An S3-compatible server of what blobs need. It verifies every signature with AWS's own signer, and lists two keys a page.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';

export interface FakeS3 {
  readonly origin: string;
  readonly objects: Map<string, Buffer>;
  /** Answers of the next requests in place of its own. */
  readonly faults: number[];
  close(): Promise<void>;
}

const PAGE = 2;

/** @param credentials that requests must be signed with, for the region us-east-1 */
export async function startFakeS3(credentials: {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}): Promise<FakeS3> {
  const objects = new Map<string, Buffer>();
  const faults: number[] = [];
  const signer = new SignatureV4({
    credentials,
    region: 'us-east-1',
    service: 's3',
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const isSigned = async (req: http.IncomingMessage, url: URL, body: Buffer): Promise<boolean> => {
    const given = String(req.headers.authorization);
    const names = /SignedHeaders=([^,]+)/.exec(given)?.[1]?.split(';') ?? [];
    const stamp = String(req.headers['x-amz-date']);
    const at = stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
    const headers = Object.fromEntries(names.map((name) => [name, String(req.headers[name])]));
    delete headers['x-amz-date'];
    const signed = await signer.sign(
      {
        method: req.method ?? '',
        protocol: 'http:',
        hostname: url.hostname,
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers,
        body,
      },
      { signingDate: new Date(at) },
    );
    return signed.headers.authorization === given;
  };
  const server = http.createServer(async (req, res) => {
    const url = new URL(req.url ?? '/', 'http://s3.example');
    const pieces: Uint8Array[] = [];
    for await (const piece of req) pieces.push(piece as Uint8Array);
    const body = Buffer.concat(pieces);
    const fault = faults.shift();
    if (fault !== undefined) return res.writeHead(fault).end(`<Error><Code>Fault</Code></Error>`);
    if (!(await isSigned(req, url, body)))
      return res.writeHead(403).end('<Error><Code>SignatureDoesNotMatch</Code></Error>');
    const key = url.pathname;
    if (req.method === 'PUT') {
      objects.set(key, body);
      return res.writeHead(200).end();
    }
    if (req.method === 'DELETE') {
      objects.delete(key);
      return res.writeHead(204).end();
    }
    if (url.searchParams.get('list-type') === '2')
      return res.writeHead(200).end(listed(key, url.searchParams));
    const found = objects.get(key);
    if (found === undefined) return res.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>');
    res.writeHead(200, { 'content-length': found.length }).end(found);
  });
  const listed = (bucket: string, query: URLSearchParams): string => {
    const under = `${bucket}/${query.get('prefix') ?? ''}`;
    const after = query.get('continuation-token') ?? '';
    const keys = [...objects.keys()].filter((key) => key.startsWith(under) && key > after).sort();
    const page = keys.slice(0, PAGE);
    const contents = page.map(
      (key) =>
        `<Contents><Key>${key.slice(bucket.length + 1)}</Key><Size>${objects.get(key)!.length}</Size></Contents>`,
    );
    const more = keys.length > PAGE;
    const token = more ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    return `<?xml version="1.0"?><ListBucketResult><IsTruncated>${more}</IsTruncated>${token}${contents.join('')}</ListBucketResult>`;
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    faults,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
