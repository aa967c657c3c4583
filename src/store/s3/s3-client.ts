// The few calls of S3 that blobs need (Amazon S3 API reference: PutObject, GetObject, ListObjectsV2, DeleteObject), over any
// server that speaks them.
import { hash } from 'node:crypto';
import { signed } from '../../lib/aws-signature.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { type HttpPool, openHttpPool } from '../../lib/http-pool.ts';
import type { S3Place } from '../../lib/s3-place.ts';

/** An object of a list. */
export interface ListedObject {
  readonly key: string;
  readonly bytes: number;
}

/** One bucket. All keys are without its prefix. Every promise ends within 30 seconds. */
export interface S3Client {
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** @throws GatewayError store_unavailable where there is none */
  get(key: string): AsyncIterable<Uint8Array>;
  /** In the order of their keys. */
  list(prefix: string): Promise<readonly ListedObject[]>;
  /** A missing object is no error. */
  remove(key: string): Promise<void>;
  close(): Promise<void>;
}

const WAIT_MS = 30_000;
const TRIES = 3;
/** Longest list or error, in bytes. */
const MAX_TEXT = 4 * 1024 * 1024;

/** Connects when it is first used. */
export function s3Client(place: S3Place): S3Client {
  return new Bucket(place);
}

class Bucket implements S3Client {
  readonly #place: S3Place;
  #pool: Promise<HttpPool> | undefined;

  constructor(place: S3Place) {
    this.#place = place;
  }

  put(key: string, bytes: Uint8Array): Promise<void> {
    return retryOnTrouble(async () => {
      await (await this.#ask('PUT', this.#urlOf(key), bytes)).body.dump();
    });
  }

  async *get(key: string): AsyncGenerator<Uint8Array, void> {
    const { body } = await retryOnTrouble(() => this.#ask('GET', this.#urlOf(key)));
    try {
      for await (const piece of body) yield piece as Uint8Array;
    } catch (error) {
      throw trouble(error);
    }
  }

  async list(under: string): Promise<readonly ListedObject[]> {
    const { bucket, endpoint, prefix } = this.#place;
    const objects: ListedObject[] = [];
    let after: string | undefined;
    do {
      const url = new URL(`/${bucket}`, endpoint);
      url.searchParams.set('list-type', '2');
      url.searchParams.set('prefix', prefix + under);
      if (after !== undefined) url.searchParams.set('continuation-token', after);
      const text = await retryOnTrouble(async () => textOf((await this.#ask('GET', url)).body));
      for (const [, one = ''] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs))
        objects.push({
          key: memberOf(one, 'Key').slice(prefix.length),
          bytes: Number(memberOf(one, 'Size')),
        });
      after = memberOf(text, 'IsTruncated') === 'true' ? memberOf(text, 'NextContinuationToken') : undefined;
    } while (after !== undefined && after !== '');
    return objects;
  }

  remove(key: string): Promise<void> {
    return retryOnTrouble(async () => {
      await (await this.#ask('DELETE', this.#urlOf(key))).body.dump();
    });
  }

  async close(): Promise<void> {
    await (await this.#pool)?.close();
  }

  #urlOf(key: string): URL {
    const { bucket, endpoint, prefix } = this.#place;
    return new URL(`/${bucket}/${prefix}${key}`, endpoint);
  }

  #connected(): Promise<HttpPool> {
    this.#pool ??= openHttpPool(this.#place.endpoint, WAIT_MS);
    return this.#pool;
  }

  async #ask(method: 'GET' | 'PUT' | 'DELETE', url: URL, body: Uint8Array = NOTHING) {
    const headers = await signed({
      method,
      url,
      headers: { 'x-amz-content-sha256': hash('sha256', body, 'hex') },
      body,
      region: this.#place.region,
      service: 's3',
      credentials: this.#place.credentials,
      at: Date.now(),
    });
    const answer = await (await this.#connected()).request({
      method,
      path: url.pathname + url.search,
      headers,
      ...(method === 'PUT' ? { body } : {}),
    });
    if (answer.statusCode >= 200 && answer.statusCode <= 299) return answer;
    const text = await textOf(answer.body);
    throw new S3Error(answer.statusCode, `${/<Code>([^<]{1,100})/.exec(text)?.[1] ?? answer.statusCode}`);
  }
}

/** Again, where it may help: all of these may be made twice. */
async function retryOnTrouble<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === TRIES || (error instanceof S3Error && error.status < 500 && error.status !== 429))
        throw trouble(error);
    }
  }
}

const NOTHING = new Uint8Array();

class S3Error extends Error {
  readonly status: number;

  constructor(status: number, code: string) {
    super(`the object store answered ${status} (${code})`);
    this.status = status;
  }
}

function trouble(cause: unknown): GatewayError {
  return fail('store_unavailable', 'a file of the object store could not be used', { cause });
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > MAX_TEXT) throw new Error('the object store answered with too much');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** Keys and tokens are of characters that XML does not escape, but for these. */
function memberOf(xml: string, name: string): string {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? '';
  return text.replaceAll('&quot;', '"').replaceAll('&amp;', '&');
}
