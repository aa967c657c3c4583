// Segmind ("Serverless API"): the model in the path; the image in base64 when it is asked for, else its bytes.
import { madeImages } from '../images.ts';
import { modelPath } from '../model-path.ts';
import { imageIn } from './image-in.ts';
import { type ImageWire, jsonCall, ownMembers, pixelsOf, seedOf } from './wire.ts';

export const segmindImages: ImageWire = {
  request(request) {
    const { model = '', prompt, negativePrompt, n, size, style } = request;
    const pixels = pixelsOf(size);
    return jsonCall(`/${modelPath(model)}`, {
      prompt,
      negative_prompt: negativePrompt,
      samples: n,
      img_width: pixels?.width,
      img_height: pixels?.height,
      style,
      seed: seedOf(request),
      base64: true,
      ...ownMembers(request),
    });
  },
  response: (body, request, context) => madeImages(imageIn(body, context), request, context),
};
