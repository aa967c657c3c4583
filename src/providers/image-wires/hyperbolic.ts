// Hyperbolic ("Image generation"): POST /image/generation.
import { madeImages } from '../images.ts';
import { imageIn } from './image-in.ts';
import { type ImageWire, jsonCall, ownMembers, pixelsOf, seedOf } from './wire.ts';

export const hyperbolicImages: ImageWire = {
  request(request) {
    const { model, prompt, negativePrompt, n, size } = request;
    return jsonCall('/image/generation', {
      model_name: model,
      prompt,
      negative_prompt: negativePrompt,
      num_images: n,
      ...pixelsOf(size),
      seed: seedOf(request),
      ...ownMembers(request),
    });
  },
  response: (body, request, context) => madeImages(imageIn(body, context), request, context),
};
