// Cloudflare Workers AI ("Text-to-Image"): the model in the path; the image as bytes, or in base64 within the result.
import { madeImages } from '../images.ts';
import { modelPath } from '../model-path.ts';
import { imageIn } from './image-in.ts';
import { type ImageWire, jsonCall, ownMembers, pixelsOf, seedOf } from './wire.ts';

export const workersAiImages: ImageWire = {
  request(request) {
    const { model = '', prompt, negativePrompt, size } = request;
    return jsonCall(`/${modelPath(model)}`, {
      prompt,
      negative_prompt: negativePrompt,
      ...pixelsOf(size),
      seed: seedOf(request),
      ...ownMembers(request),
    });
  },
  response: (body, request, context) => madeImages(imageIn(body, context), request, context),
};
