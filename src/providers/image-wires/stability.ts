// Stability AI ("REST API"): engines of v1 in JSON, the models of v2beta in a form.
import { createHash } from 'node:crypto';
import type { CreateImageRequest } from '../../../gen/gateway/inference/v2/images_pb.ts';
import type { Outbound } from '../dialect.ts';
import { readObject } from '../dialects/openai/response.ts';
import { madeImages } from '../images.ts';
import { arrayOf, isObject, textOf } from '../json-object.ts';
import { pathSegment } from '../path-segment.ts';
import { type ImageWire, jsonCall, ownMembers, pixelsOf, ratioOf, seedOf } from './wire.ts';

const RATIOS = ['16:9', '1:1', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21'];
/** What v2beta calls the services; Stable Diffusion 3 has several models. */
const SERVICES: readonly (readonly [RegExp, string])[] = [
  [/(?:^|-)ultra/, 'ultra'],
  [/(?:^|-)core/, 'core'],
  [/^(?:sd3|stable-diffusion-3)/, 'sd3'],
];

export const stabilityImages: ImageWire = {
  request(request) {
    const { model = '' } = request;
    const service = SERVICES.find(([pattern]) => pattern.test(model))?.[1];
    return service === undefined ? engineCall(request) : serviceCall(request, service);
  },
  response(body, request, context) {
    const answer = readObject(body, context);
    const image = textOf(answer.image);
    const made = arrayOf(answer.artifacts).flatMap((one) => {
      const b64Json = isObject(one) ? textOf(one.base64) : undefined;
      return b64Json === undefined ? [] : [{ b64Json }];
    });
    return madeImages(image === undefined ? made : [{ b64Json: image }], request, context);
  },
};

function engineCall(request: CreateImageRequest): Outbound {
  const { model = '', prompt = '', negativePrompt, n, size, style } = request;
  const refused = negativePrompt === undefined ? [] : [{ text: negativePrompt, weight: -1 }];
  return jsonCall(`/v1/generation/${pathSegment(model)}/text-to-image`, {
    text_prompts: [{ text: prompt, weight: 1 }, ...refused],
    samples: n,
    ...pixelsOf(size),
    seed: seedOf(request),
    style_preset: style,
    ...ownMembers(request),
  });
}

function serviceCall(request: CreateImageRequest, service: string): Outbound {
  const { model = '', prompt = '', negativePrompt, size, style, outputFormat } = request;
  const members: Record<string, unknown> = {
    prompt,
    negative_prompt: negativePrompt,
    aspect_ratio: ratioOf(size, RATIOS),
    seed: seedOf(request),
    style_preset: style,
    output_format: outputFormat,
    model: service === 'sd3' ? model.replace('stable-diffusion-3', 'sd3') : undefined,
    ...ownMembers(request),
  };
  // Not by chance: the same request is the same to the cache. No text holds its own hash.
  const boundary = `sluice-${createHash('sha256').update(JSON.stringify(members)).digest('hex').slice(0, 32)}`;
  const parts = Object.entries(members).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [
          `--${boundary}\r\ncontent-disposition: form-data; name="${name.replace(/["\r\n\\]/g, '_')}"\r\n\r\n${
            typeof value === 'string' ? value : JSON.stringify(value)
          }\r\n`,
        ],
  );
  return {
    method: 'POST',
    path: `/v2beta/stable-image/generate/${service}`,
    headers: ['content-type', `multipart/form-data; boundary=${boundary}`, 'accept', 'application/json'],
    body: `${parts.join('')}--${boundary}--\r\n`,
  };
}
