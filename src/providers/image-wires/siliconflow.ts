// SiliconFlow ("Create images"): OpenAI's path under other names.
import { madeImages } from '../images.ts';
import { imageIn } from './image-in.ts';
import { type ImageWire, jsonCall, ownMembers, seedOf } from './wire.ts';

export const siliconflowImages: ImageWire = {
  request(request) {
    const { model, prompt, negativePrompt, n, size } = request;
    return jsonCall('/images/generations', {
      model,
      prompt,
      negative_prompt: negativePrompt,
      batch_size: n,
      image_size: size === 'auto' ? undefined : size,
      seed: seedOf(request),
      ...ownMembers(request),
    });
  },
  response: (body, request, context) => madeImages(imageIn(body, context), request, context),
};
