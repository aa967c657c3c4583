// Images in OpenAI's shape: what providers' answers become, and what of them is charged.
import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import {
  type CreateImageRequest,
  type ImageEvent,
  ImageEventSchema,
  type Images,
  ImagesSchema,
} from '../../gen/gateway/inference/v2/images_pb.ts';
import { fail } from '../lib/errors.ts';
import type { MessageJson, Translated, TranslationContext } from './dialect.ts';
import { arrayOf, isObject, objectOf, textOf } from './json-object.ts';
import { type EstimatedTokens, imageKind, mediaUsage } from './usage/media.ts';
import type { UsageReport } from './usage/report.ts';
import { roughTokens } from './usage/rough-tokens.ts';
import { readUsage } from './usage/tap.ts';

/** One image of a provider that has a shape of its own. */
export interface MadeImage {
  readonly b64Json?: string | undefined;
  readonly url?: string | undefined;
  readonly revisedPrompt?: string | undefined;
  readonly extra?: JsonObject | undefined;
}

/** What a request says of how its images are priced. */
type AskedImages = Partial<Pick<CreateImageRequest, 'model' | 'quality' | 'size' | 'prompt'>>;

/**
 * An answer made of a provider's images.
 * @throws GatewayError `upstream_garbage` when there is none
 */
export function madeImages(
  made: readonly MadeImage[],
  request: AskedImages,
  { target, now }: TranslationContext,
  more: { readonly size?: string | undefined; readonly usage?: UsageReport } = {},
): Translated<Images> {
  if (made.length === 0)
    throw fail('upstream_garbage', 'the provider answered without images', { provider: target.provider.id });
  const answer = create(ImagesSchema, {
    created: BigInt(Math.floor(now() / 1000)),
    data: made.map(({ b64Json, url, revisedPrompt, extra }) => ({
      ...(b64Json === undefined ? {} : { b64Json }),
      ...(url === undefined ? {} : { url }),
      ...(revisedPrompt === undefined ? {} : { revisedPrompt }),
      ...(extra === undefined ? {} : { extra }),
    })),
    ...(more.size === undefined ? {} : { size: more.size }),
  });
  const kind = imageKind(request.quality, more.size ?? request.size);
  const estimated = tokensOf(made.length, request.prompt, request.quality, more.size ?? request.size);
  const usage = mediaUsage({ images: made.length, imageKind: kind }, more.usage, estimated);
  return { answer, usage, model: undefined };
}

/** Compatible services leave out `created`, or name the list `images`. The same object where nothing is missing. */
export function mended(whole: JsonObject, { target, now }: TranslationContext): JsonObject {
  const list = whole.data ?? whole.images;
  if (!Array.isArray(list))
    throw fail('upstream_garbage', 'the provider answered without images', { provider: target.provider.id });
  if (typeof whole.created === 'number' && whole.data !== undefined) return whole;
  const { images: _, ...rest } = whole;
  const created = typeof whole.created === 'number' ? whole.created : Math.floor(now() / 1000);
  return { ...rest, created, data: list.map(named) };
}

function named(image: JsonValue): JsonValue {
  if (typeof image === 'string') return image.startsWith('http') ? { url: image } : { b64_json: image };
  if (!isObject(image) || image.b64_json !== undefined || image.url !== undefined) return image;
  const { image: own, ...rest } = image;
  return typeof own === 'string' ? { ...rest, b64_json: own } : image;
}

/** What is charged of an answer in OpenAI's shape: tokens where they are counted, and the images by their kind. */
export function imagesUsage(json: MessageJson, answer: JsonObject, request: AskedImages): UsageReport {
  const counts = objectOf(answer.usage);
  const tokens = counts && readUsage(json, withImageTokens(counts));
  const quality = textOf(answer.quality) ?? request.quality;
  const size = textOf(answer.size) ?? request.size;
  const images = arrayOf(answer.data).length;
  const estimated = tokensOf(images, request.prompt, quality, size);
  return mediaUsage({ images, imageKind: imageKind(quality, size) }, tokens, estimated);
}

/** Tokens of one image, by its quality: square, upright, lying (OpenAI, "Image generation", cost and latency). */
const IMAGE_TOKENS: Readonly<Record<string, readonly [number, number, number]>> = Object.freeze({
  low: [272, 408, 400],
  medium: [1056, 1584, 1568],
  high: [4160, 6240, 6208],
});

/** What images take where the provider's count cannot be true: of an unknown quality, the most. */
function tokensOf(images: number, prompt = '', quality?: string, size?: string): EstimatedTokens {
  const [square, upright, lying] =
    IMAGE_TOKENS[Object.hasOwn(IMAGE_TOKENS, quality ?? '') ? quality! : 'high']!;
  const [width = 0, height = 0] = (size ?? '').split('x').map(Number);
  const each = width < height ? upright : width > height ? lying : square;
  return { input: roughTokens(prompt.length), outputImages: images * each };
}

/** What is made are images: its tokens are of images, where the report does not tell them apart. */
function withImageTokens(counts: JsonObject): JsonObject {
  const { output_tokens: made } = counts;
  if (made === undefined || made === null || isObject(counts.output_tokens_details)) return counts;
  return { ...counts, output_tokens_details: { image_tokens: made } };
}

/** A whole answer in events: a finished one for each image. @param kind what their types begin with */
export function imageEvents(answer: Images, kind: string): readonly ImageEvent[] {
  const { created, data, background, outputFormat, quality, size, usage } = answer;
  return data.map(({ b64Json, url, revisedPrompt, extra }, i) => {
    const more: JsonObject = {
      ...extra,
      ...(url === undefined ? {} : { url }),
      ...(revisedPrompt === undefined ? {} : { revised_prompt: revisedPrompt }),
    };
    return create(ImageEventSchema, {
      type: `${kind}.completed`,
      createdAt: created,
      ...(b64Json === undefined ? {} : { b64Json }),
      ...(background === undefined ? {} : { background }),
      ...(outputFormat === undefined ? {} : { outputFormat }),
      ...(quality === undefined ? {} : { quality }),
      ...(size === undefined ? {} : { size }),
      ...(usage === undefined || i < data.length - 1 ? {} : { usage }),
      ...(Object.keys(more).length === 0 ? {} : { extra: more }),
    });
  });
}
