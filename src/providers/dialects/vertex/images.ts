// Images: Imagen by `:predict`, Gemini's models by generateContent, one whole answer.
import type {
  CreateImageRequest,
  ImageEvent,
  Images,
} from '../../../../gen/gateway/inference/v2/images_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import type { MessageJson, StreamingOperation } from '../../dialect.ts';
import { googleImages, readGoogleImages } from '../../image-wires/imagen.ts';
import { wholeImages } from '../../image-wires/whole-images.ts';
import { servedModel } from './served-model.ts';

/** The operation over the given JSON. */
export function images(json: MessageJson): StreamingOperation<CreateImageRequest, Images, ImageEvent> {
  return wholeImages({
    request(request) {
      const { wire, model, path } = servedModel(request.model ?? '');
      if (wire !== 'gemini') throw invalidField('model', "must be one of Google's models for images");
      return googleImages(request, path, model);
    },
    response: (body, request, context) => readGoogleImages(json, body, request, context),
  });
}
