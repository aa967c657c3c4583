// The pieces of streamed images: each is one image, finished or not, and holds no text.
import { type ImageEvent, ImageEventSchema } from '../../../../gen/gateway/inference/v2/images_pb.ts';
import { codec } from '../../../rest/codec.ts';
import type { Assembled, PieceForm } from './piece-form.ts';

/** Events of images. */
export const IMAGES: PieceForm = {
  increments: () => [],
  hasContent: () => true,
  said: () => '',
  cutOff: () => [],
  closing: (_last, members) => codec.decode(ImageEventSchema, { type: 'hook_results', ...members }),
  assembled: () => new AssembledImages(),
  asksUsage: () => false,
};

/** The finished images without their bytes, which would be more than a log keeps. */
class AssembledImages implements Assembled {
  readonly #images: object[] = [];
  readonly held = 0;
  readonly left = 0;

  push(piece: object): void {
    const { type, b64Json, size, quality } = piece as ImageEvent;
    if (!type.endsWith('.completed')) return;
    this.#images.push({
      b64_json_bytes: Math.floor(((b64Json?.length ?? 0) * 3) / 4),
      ...(size === undefined ? {} : { size }),
      ...(quality === undefined ? {} : { quality }),
    });
  }

  json(): string {
    return JSON.stringify({ data: this.#images });
  }
}
