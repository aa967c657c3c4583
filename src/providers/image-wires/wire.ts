// How providers whose images have another form than OpenAI's are asked: a request of their own, one whole answer.
import type { JsonObject } from '@bufbuild/protobuf';
import type { CreateImageRequest, Images } from '../../../gen/gateway/inference/v2/images_pb.ts';
import { invalidField } from '../../lib/errors.ts';
import { jsonBody } from '../../lib/json-in-slices.ts';
import type { Operation, Outbound } from '../dialect.ts';
import { given } from '../json-object.ts';

/** One form. */
export type ImageWire = Operation<CreateImageRequest, Images>;

const HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);

/** A request with a JSON body; members that are undefined are left out. */
export function jsonCall(path: string, body: Readonly<Record<string, unknown>>): Outbound {
  return { method: 'POST', path, headers: HEADERS, body: jsonBody(body) };
}

/** Members that the contract does not name: the provider's own. */
export function ownMembers({ extra }: CreateImageRequest): JsonObject {
  return given(extra) ?? {};
}

/** Width and height in pixels; undefined for `auto` and without a size. @throws GatewayError `validation_failed` */
export function pixelsOf(
  size: string | undefined,
): { readonly width: number; readonly height: number } | undefined {
  if (size === undefined || size === 'auto') return undefined;
  const [, width, height] = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(size) ?? [];
  if (width === undefined || height === undefined)
    throw invalidField('size', 'must be width and height in pixels, as 1024x1024, with this provider');
  return { width: Number(width), height: Number(height) };
}

/** The nearest ratio that services take in place of pixels, or a ratio as it was given ("16:9"). */
export function ratioOf(size: string | undefined, ratios: readonly string[]): string | undefined {
  if (size !== undefined && ratios.includes(size)) return size;
  const pixels = pixelsOf(size);
  if (pixels === undefined) return undefined;
  const wanted = Math.log(pixels.width / pixels.height);
  const distance = (ratio: string): number => {
    const [width = 1, height = 1] = ratio.split(':').map(Number);
    return Math.abs(Math.log(width / height) - wanted);
  };
  return ratios.toSorted((a, b) => distance(a) - distance(b))[0];
}

/** The seed as JSON has it. */
export function seedOf({ seed }: CreateImageRequest): number | undefined {
  return seed === undefined ? undefined : Number(seed);
}
