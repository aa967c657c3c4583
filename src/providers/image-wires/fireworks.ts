// Fireworks AI ("Image generation"): the model in the path; FLUX is a workflow.
import { madeImages } from '../images.ts';
import { modelPath } from '../model-path.ts';
import { imageIn } from './image-in.ts';
import { type ImageWire, jsonCall, ownMembers, pixelsOf, ratioOf, seedOf } from './wire.ts';

const RATIOS = ['1:1', '21:9', '16:9', '3:2', '5:4', '4:5', '2:3', '9:16', '9:21', '4:3', '3:4'];

export const fireworksImages: ImageWire = {
  request(request) {
    const { model = '', prompt, negativePrompt, n, size } = request;
    const name = model.includes('/') ? model : `accounts/fireworks/models/${model}`;
    const own = { seed: seedOf(request), ...ownMembers(request) };
    if (/flux/i.test(name))
      return jsonCall(`/workflows/${modelPath(name)}/text_to_image`, {
        prompt,
        aspect_ratio: ratioOf(size, RATIOS),
        ...own,
      });
    return jsonCall(`/image_generation/${modelPath(name)}`, {
      prompt,
      negative_prompt: negativePrompt,
      samples: n,
      ...pixelsOf(size),
      ...own,
    });
  },
  response: (body, request, context) => madeImages(imageIn(body, context), request, context),
};
