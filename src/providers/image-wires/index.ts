// The forms of images by the names that providers' literals use.
import { fireworksImages } from './fireworks.ts';
import { hyperbolicImages } from './hyperbolic.ts';
import type { ImageWireName } from './names.ts';
import { segmindImages } from './segmind.ts';
import { siliconflowImages } from './siliconflow.ts';
import { stabilityImages } from './stability.ts';
import { togetherImages } from './together.ts';
import type { ImageWire } from './wire.ts';
import { workersAiImages } from './workers-ai.ts';

export const IMAGE_WIRES = Object.freeze({
  fireworks: fireworksImages,
  hyperbolic: hyperbolicImages,
  segmind: segmindImages,
  siliconflow: siliconflowImages,
  stability: stabilityImages,
  together: togetherImages,
  'workers-ai': workersAiImages,
} satisfies Readonly<Record<ImageWireName, ImageWire>>);
