// Images (OpenAI API reference, "Create image"): POST /images/generations, whole and in events.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type CreateImageRequest,
  CreateImageRequestSchema,
  type ImageEvent,
  ImageEventSchema,
  type Images,
  ImagesSchema,
} from '../../../../gen/gateway/inference/v2/images_pb.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { MessageJson, StreamingOperation, TranslationContext } from '../../dialect.ts';
import { IMAGE_WIRES } from '../../image-wires/index.ts';
import type { ImageWireName } from '../../image-wires/names.ts';
import { wholeImages } from '../../image-wires/whole-images.ts';
import { checkImageWords } from '../../image-words.ts';
import { imageEvents, imagesUsage, mended } from '../../images.ts';
import { ImageStream } from './image-stream.ts';
import { streamedCall, wholeCall } from './request.ts';
import { readObject } from './response.ts';

const PATH = '/images/generations';

/** The operation over the given JSON. */
export function images(json: MessageJson): StreamingOperation<CreateImageRequest, Images, ImageEvent> {
  const own = openAiImages(json);
  const of = ({ target: { provider } }: TranslationContext) =>
    provider.imageWire === undefined ? own : WIRES[provider.imageWire];
  return {
    request: (request, context) => of(context).request(request, context),
    response: (body, request, context) => of(context).response(body, request, context),
    streamRequest: (request, context) => of(context).streamRequest(request, context),
    stream: (request, context) => of(context).stream(request, context),
    answersWhole: ({ target: { provider } }) => provider.imageWire !== undefined,
    wholeAsChunks: own.wholeAsChunks,
  };
}

type ImageOperation = StreamingOperation<CreateImageRequest, Images, ImageEvent>;

const WIRES = Object.fromEntries(
  Object.entries(IMAGE_WIRES).map(([name, wire]) => [name, wholeImages(wire)]),
) as Readonly<Record<ImageWireName, ImageOperation>>;

function openAiImages(json: MessageJson): ImageOperation {
  return {
    request(request, { target: { provider } }) {
      checkImageWords(provider, request);
      return wholeCall(PATH, json, CreateImageRequestSchema, request, provider);
    },
    streamRequest(request, { target: { provider } }) {
      checkImageWords(provider, request);
      // Its usage comes unasked, with the last image.
      return streamedCall(PATH, json, CreateImageRequestSchema, request, {
        ...provider,
        streamUsage: 'unasked',
      });
    },
    response(body, request, context) {
      const whole = readObject(body, context);
      const object = mended(whole, context);
      const raw = object === whole ? body : JSON.stringify(object);
      const answer = attachRawJson(
        lazyMessage(ImagesSchema, () => json.decode(ImagesSchema, object)),
        raw,
      );
      return { answer, usage: imagesUsage(json, object, request), model: modelIn(object) };
    },
    stream: (request, { target: { provider } }) => new ImageStream(json, ImageEventSchema, provider, request),
    wholeAsChunks: (answer) => imageEvents(answer, 'image_generation'),
  };
}

function modelIn({ model }: JsonObject): string | undefined {
  return typeof model === 'string' && model !== '' ? model : undefined;
}
