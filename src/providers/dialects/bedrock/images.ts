// Images over InvokeModel (Bedrock, "Amazon Nova Canvas", "Titan Image Generator", "Stability AI models").
import type {
  CreateImageRequest,
  ImageEvent,
  Images,
} from '../../../../gen/gateway/inference/v2/images_pb.ts';
import { fail, invalidField } from '../../../lib/errors.ts';
import type { StreamingOperation } from '../../dialect.ts';
import { wholeImages } from '../../image-wires/whole-images.ts';
import { jsonCall, ownMembers, pixelsOf, ratioOf, seedOf } from '../../image-wires/wire.ts';
import { madeImages } from '../../images.ts';
import { arrayOf, isObject, textOf } from '../../json-object.ts';
import { modelSegment } from './model-id.ts';
import { readObject } from './response.ts';

const RATIOS = ['16:9', '1:1', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21'];

/** The operation. */
export function images(): StreamingOperation<CreateImageRequest, Images, ImageEvent> {
  return wholeImages({
    request: (request) => jsonCall(`/model/${modelSegment(request.model ?? '')}/invoke`, bodyOf(request)),
    response(body, request, context) {
      const answer = readObject(body, context);
      const refused = [answer.error, ...arrayOf(answer.finish_reasons)].map(textOf);
      const made = [...arrayOf(answer.images), ...arrayOf(answer.artifacts)].flatMap((one) => {
        const b64Json = textOf(isObject(one) ? one.base64 : one);
        return b64Json === undefined ? [] : [{ b64Json }];
      });
      const why = refused.find((one) => one !== undefined);
      if (made.length === 0 && why !== undefined)
        throw fail('upstream_status', `the provider made no image: ${why}`, {
          provider: context.target.provider.id,
          status: 400,
          code: 'content_filter',
        });
      return madeImages(made, request, context);
    },
  });
}

/** Each maker's own body. @throws GatewayError `validation_failed` for models that make no images */
function bodyOf(request: CreateImageRequest): Readonly<Record<string, unknown>> {
  const { model = '', prompt, negativePrompt, n, size, quality, style } = request;
  const own = ownMembers(request);
  if (/amazon\.(?:nova-canvas|titan-image)/.test(model))
    return {
      taskType: 'TEXT_IMAGE',
      textToImageParams: { text: prompt, negativeText: negativePrompt },
      imageGenerationConfig: {
        numberOfImages: n,
        quality:
          quality === 'hd' || quality === 'high' ? 'premium' : quality === undefined ? undefined : 'standard',
        ...pixelsOf(size),
        seed: seedOf(request),
      },
      ...own,
    };
  if (/stability\.stable-diffusion-xl/.test(model))
    return {
      text_prompts: [
        { text: prompt, weight: 1 },
        ...(negativePrompt === undefined ? [] : [{ text: negativePrompt, weight: -1 }]),
      ],
      samples: n,
      ...pixelsOf(size),
      seed: seedOf(request),
      style_preset: style,
      ...own,
    };
  if (/stability\./.test(model))
    return {
      prompt,
      negative_prompt: negativePrompt,
      aspect_ratio: ratioOf(size, RATIOS),
      seed: seedOf(request),
      output_format: request.outputFormat,
      ...own,
    };
  throw invalidField(
    'model',
    "must be one of Amazon's Nova Canvas and Titan Image Generator or of Stability AI's for images with this provider",
  );
}
