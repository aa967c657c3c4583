// Images of images (OpenAI API reference, "Create image edit", "Create image variation"): forms, whose bytes are the
// pipeline's to send. What is read here is an answer in JSON.
import {
  type ImageEditHead,
  type Images,
  ImagesSchema,
  type ImageVariationHead,
} from '../../../../gen/gateway/inference/v2/images_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { MessageJson, Operation, Outbound } from '../../dialect.ts';
import { checkImageWords } from '../../image-words.ts';
import { imagesUsage, mended } from '../../images.ts';
import { textOf } from '../../json-object.ts';
import { readObject } from './response.ts';

const HEADERS = Object.freeze(['accept', '*/*']);
const FIDELITIES = ['high', 'low'];

/** Images changed by a prompt. */
export function imageEdits(json: MessageJson): Operation<ImageEditHead, Images> {
  return {
    request(request, { target: { provider } }): Outbound {
      checkImageWords(provider, request);
      const { inputFidelity: fidelity } = request;
      if (provider.ownWords && fidelity !== undefined && !FIDELITIES.includes(fidelity))
        throw invalidField('input_fidelity', `must be one of ${FIDELITIES.join(', ')}`, 'in');
      return { method: 'POST', path: '/images/edits', headers: HEADERS, body: undefined };
    },
    response: readImages(json),
  };
}

/** Images like another one. */
export function imageVariations(json: MessageJson): Operation<ImageVariationHead, Images> {
  return {
    request(request, { target: { provider } }): Outbound {
      checkImageWords(provider, request);
      return { method: 'POST', path: '/images/variations', headers: HEADERS, body: undefined };
    },
    response: readImages(json),
  };
}

function readImages(json: MessageJson): Operation<ImageEditHead | ImageVariationHead, Images>['response'] {
  return (body, request, context) => {
    const whole = readObject(body, context);
    const object = mended(whole, context);
    const answer = attachRawJson(
      lazyMessage(ImagesSchema, () => json.decode(ImagesSchema, object)),
      object === whole ? body : JSON.stringify(object),
    );
    return { answer, usage: imagesUsage(json, object, request), model: textOf(object.model) };
  };
}
