// Google's images: Imagen by `:predict` (Gemini API and Vertex AI, "Imagen API"), Gemini's models by generateContent.
import type { JsonObject } from '@bufbuild/protobuf';
import type { CreateImageRequest, Images } from '../../../gen/gateway/inference/v2/images_pb.ts';
import { fail } from '../../lib/errors.ts';
import type { MessageJson, Outbound, Translated, TranslationContext } from '../dialect.ts';
import { readObjects } from '../dialects/gemini/response.ts';
import { type MadeImage, madeImages } from '../images.ts';
import { arrayOf, isObject, objectOf, textOf } from '../json-object.ts';
import { modelPath } from '../model-path.ts';
import { readUsage } from '../usage/tap.ts';
import { jsonCall, ownMembers, ratioOf, seedOf } from './wire.ts';

const RATIOS = ['1:1', '3:4', '4:3', '9:16', '16:9'];
const MORE_RATIOS = [...RATIOS, '2:3', '3:2', '4:5', '5:4', '21:9'];

/** Whether a model makes images as answers of generateContent. */
function isGemini(model: string): boolean {
  return /gemini|banana/i.test(model);
}

/** @param path of the model's collection @param model its name there */
export function googleImages(request: CreateImageRequest, path: string, model: string): Outbound {
  const { prompt = '', n, size, negativePrompt, outputFormat, outputCompression } = request;
  const own = ownMembers(request);
  const at = `${path}/${modelPath(model)}`;
  if (isGemini(model)) {
    const ratio = ratioOf(size, MORE_RATIOS);
    const { generationConfig, ...rest } = own;
    return jsonCall(`${at}:generateContent`, {
      contents: [{ role: 'user', parts: [{ text: prompt }] }],
      generationConfig: {
        responseModalities: ['TEXT', 'IMAGE'],
        candidateCount: n,
        seed: seedOf(request),
        ...(ratio === undefined ? {} : { imageConfig: { aspectRatio: ratio } }),
        ...(isObject(generationConfig) ? generationConfig : {}),
      },
      ...rest,
    });
  }
  const output =
    outputFormat === undefined && outputCompression === undefined
      ? undefined
      : {
          mimeType: outputFormat === undefined ? undefined : `image/${outputFormat}`,
          compressionQuality: outputCompression,
        };
  return jsonCall(`${at}:predict`, {
    instances: [{ prompt }],
    parameters: {
      sampleCount: n ?? 1,
      aspectRatio: ratioOf(size, RATIOS),
      negativePrompt,
      seed: seedOf(request),
      outputOptions: output,
      ...own,
    },
  });
}

/** The images of an answer of either form. @throws GatewayError content_filter (400) where all were refused */
export function readGoogleImages(
  json: MessageJson,
  body: Uint8Array,
  request: CreateImageRequest,
  context: TranslationContext,
): Translated<Images> {
  const objects = readObjects(body, context);
  const predicted = objects.flatMap(({ predictions }) => arrayOf(predictions)).filter(isObject);
  const parts = objects
    .flatMap(({ candidates }) => arrayOf(candidates))
    .flatMap((one) => arrayOf(objectOf(isObject(one) ? one.content : undefined)?.parts))
    .filter(isObject);
  const made = [...predicted.flatMap(ofPrediction), ...parts.flatMap(ofPart)];
  const reason = refusal(objects, predicted);
  if (made.length === 0 && reason !== undefined)
    throw fail('upstream_status', `the provider made no image: ${reason}`, {
      provider: context.target.provider.id,
      status: 400,
      code: 'content_filter',
    });
  const counts = objects
    .map(({ usageMetadata }) => objectOf(usageMetadata))
    .findLast((one) => one !== undefined);
  return madeImages(made, request, context, { usage: counts && readUsage(json, withImages(counts)) });
}

function ofPrediction({ bytesBase64Encoded: bytes, prompt }: JsonObject): readonly MadeImage[] {
  return typeof bytes === 'string' ? [{ b64Json: bytes, revisedPrompt: textOf(prompt) }] : [];
}

function ofPart(part: JsonObject): readonly MadeImage[] {
  const data = textOf((objectOf(part.inlineData) ?? objectOf(part.inline_data))?.data);
  return data === undefined ? [] : [{ b64Json: data }];
}

function refusal(objects: readonly JsonObject[], predicted: readonly JsonObject[]): string | undefined {
  const blocked = objects.map(({ promptFeedback }) => textOf(objectOf(promptFeedback)?.blockReason));
  const filtered = predicted.map(({ raiFilteredReason }) => textOf(raiFilteredReason));
  const finished = objects
    .flatMap(({ candidates }) => arrayOf(candidates))
    .map((one) => textOf(isObject(one) ? one.finishReason : undefined))
    .filter((reason) => reason !== 'STOP' && reason !== 'MAX_TOKENS');
  return [...blocked, ...filtered, ...finished].find((one) => one !== undefined);
}

/** Gemini tells tokens of the answer by what they stand for. */
function withImages(counts: JsonObject): JsonObject {
  const images = arrayOf(counts.candidatesTokensDetails).reduce<number>(
    (sum, one) =>
      isObject(one) && one.modality === 'IMAGE' && typeof one.tokenCount === 'number'
        ? sum + one.tokenCount
        : sum,
    0,
  );
  const {
    promptTokenCount: input = 0,
    candidatesTokenCount: output = 0,
    totalTokenCount: total = 0,
  } = counts;
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: total,
    ...(images === 0 ? {} : { output_tokens_details: { image_tokens: images } }),
  };
}
