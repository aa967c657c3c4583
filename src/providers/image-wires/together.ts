// Together AI ("Create image"): OpenAI's path, with width and height apart and base64 under its own name.
import { madeImages } from '../images.ts';
import { imageIn } from './image-in.ts';
import { type ImageWire, jsonCall, ownMembers, pixelsOf, seedOf } from './wire.ts';

export const togetherImages: ImageWire = {
  request(request) {
    const { model, prompt, negativePrompt, n, size, responseFormat, outputFormat } = request;
    return jsonCall('/images/generations', {
      model,
      prompt,
      negative_prompt: negativePrompt,
      n,
      ...pixelsOf(size),
      response_format: responseFormat === 'b64_json' ? 'base64' : responseFormat,
      output_format: outputFormat,
      seed: seedOf(request),
      ...ownMembers(request),
    });
  },
  response: (body, request, context) => madeImages(imageIn(body, context), request, context),
};
