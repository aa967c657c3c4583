// default.inlineImageUrls: images that a request names by URL are fetched, by the egress dialer and its rules, and put
// into it as data. A mutator of requests, for providers that fetch nothing themselves.
import { GatewayError } from '../lib/errors.ts';
import { type CheckDeps, CheckFailure, type CheckOutcome } from './contract/check.ts';
import { defineCheck } from './contract/define.ts';
import { count, defaulted, texts } from './contract/fields.ts';
import { isObject } from './contract/parameters.ts';
import { deadline } from './outward/deadline.ts';
import { replaceAt } from './view/rewrite.ts';
import { objectsIn } from './view/slots.ts';
import type { JsonObject, JsonPath, Traffic } from './view/traffic.ts';

const MOST_IMAGES = 20;
const MOST_BYTES = 20_971_520;
/** Of all images together: base64 makes a third more of it, and a request holds it whole. */
const MOST_BYTES_TOGETHER = 41_943_040;
const TYPES = /^image\/(png|jpeg|gif|webp|bmp|tiff|heic|heif|avif)$/;

/** A place that names an image, and what stands there once it is fetched. */
interface Place {
  readonly path: JsonPath;
  readonly url: string;
  put(type: string, data: string): unknown;
}

export const inlineImageUrls = defineCheck({
  id: 'default.inlineImageUrls',
  events: ['input'],
  rewrites: true,
  timeoutMs: 60_000,
  fields: {
    /** Providers that need it; all when empty. */
    providers: defaulted(texts({ least: 0, commas: true }), []),
    maxSizeBytes: defaulted(count(1, MOST_BYTES), MOST_BYTES),
    timeoutMs: defaulted(count(1, 60_000), 30_000),
  },
  async run({ traffic }, { providers, maxSizeBytes, timeoutMs }, deps): Promise<CheckOutcome> {
    const wanted =
      providers.length === 0 || (traffic.provider !== undefined && providers.includes(traffic.provider));
    const { json } = traffic.request;
    const places = wanted ? imagesIn(traffic) : [];
    if (places.length === 0) return { verdict: true, data: { inlinedImages: 0 } };
    if (places.length > MOST_IMAGES)
      throw new CheckFailure('InputTooLongError', `more than ${MOST_IMAGES} images`);
    const late = () => new CheckFailure('TimeoutError', `the images did not come within ${timeoutMs} ms`);
    const { signal, release } = deadline(deps.signal, timeoutMs, late);
    try {
      const images = await Promise.all(
        places.map(({ url }) => fetchImage(url, maxSizeBytes, { ...deps, signal })),
      );
      const bytes = images.reduce((sum, { body }) => sum + body.length, 0);
      if (bytes > MOST_BYTES_TOGETHER)
        throw new CheckFailure('InputTooLongError', `images of more than ${MOST_BYTES_TOGETHER} bytes`);
      let request: unknown = json;
      for (const [index, { path, put }] of places.entries()) {
        const { type, body } = images[index]!;
        request = replaceAt(request, path, put(type, Buffer.from(body).toString('base64')));
      }
      return {
        verdict: true,
        data: { inlinedImages: images.length },
        transformed: { request: request as JsonObject },
      };
    } finally {
      release();
    }
  },
});

/** Members of requests for images (also of edits as JSON) that name one: a URL, an object with one, or a list of these. */
const OF_IMAGES = ['image', 'images', 'image_url', 'mask'];

/** What names an image by an http or https URL: parts of messages in the shapes of the three APIs, members of image requests. */
function imagesIn({ api, request: { json } }: Traffic): Place[] {
  const places = new Places();
  if (api === 'images') for (const name of OF_IMAGES) places.named([name], json[name]);
  for (const name of ['messages', 'input'])
    for (const [message, at] of objectsIn([name], json[name])) {
      places.parts([...at, 'content'], message.content);
      // What a function gave back, in Responses.
      places.parts([...at, 'output'], message.output);
    }
  return places.found;
}

const asUrl = (type: string, data: string): string => `data:${type};base64,${data}`;

/** Gathers the places of one request. */
class Places {
  readonly found: Place[] = [];

  /** A list of parts. Results of tools have parts of their own (Messages). */
  parts(at: JsonPath, list: unknown): void {
    for (const [part, path] of objectsIn(at, list)) {
      this.#part(part, path);
      for (const [inner, innerPath] of objectsIn([...path, 'content'], part.content))
        this.#part(inner, innerPath);
    }
  }

  /** A URL, an object with one, or a list of these. */
  named(path: JsonPath, value: unknown): void {
    if (Array.isArray(value)) {
      for (const [index, one] of value.entries()) this.#one([...path, index], one);
    } else this.#one(path, value);
  }

  #one(path: JsonPath, value: unknown): void {
    this.#note(path, value, asUrl);
    if (!isObject(value)) return;
    for (const name of ['image_url', 'url']) this.#note([...path, name], value[name], asUrl);
  }

  #part(part: JsonObject, path: JsonPath): void {
    const { image_url: image, source } = part;
    if (isObject(image)) this.#note([...path, 'image_url', 'url'], image.url, asUrl);
    else this.#note([...path, 'image_url'], image, asUrl);
    if (part.type === 'image' && isObject(source))
      this.#note([...path, 'source'], source.url, (type, data) => ({
        type: 'base64',
        media_type: type,
        data,
      }));
  }

  #note(path: JsonPath, url: unknown, put: Place['put']): void {
    if (typeof url === 'string' && /^https?:\/\//i.test(url)) this.found.push({ path, url, put });
  }
}

async function fetchImage(
  url: string,
  maxBytes: number,
  { dialer, signal }: CheckDeps,
): Promise<{ readonly type: string; readonly body: Uint8Array }> {
  try {
    dialer.check(url, 'image_url');
    const { origin, pathname, search } = new URL(url);
    const headers = ['accept', 'image/*'];
    const request = { origin, path: pathname + search, method: 'GET', headers, body: undefined, signal };
    const answer = await dialer.whole(request, maxBytes);
    if (answer.status !== 200)
      throw new CheckFailure('CallFailedError', `an image answered with status ${answer.status}`);
    const [type = ''] = (answer.header('content-type') ?? '').toLowerCase().split(';', 1);
    if (!TYPES.test(type.trim()))
      throw new CheckFailure('InvalidResponseError', 'what was fetched is no image');
    return { type: type.trim(), body: answer.body };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof CheckFailure) throw error;
    throw new CheckFailure(
      'CallFailedError',
      error instanceof GatewayError ? error.message : 'the call failed',
    );
  }
}
