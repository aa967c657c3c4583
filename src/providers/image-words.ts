// OpenAI's own values of an image's members (API reference, "Create image"), which are checked where OpenAI is called:
// other providers have others.
import type { CreateImageRequest } from '../../gen/gateway/inference/v2/images_pb.ts';
import { type Violation, validationFailed } from '../lib/errors.ts';
import type { ProviderEntry } from './dialect.ts';

const WORDS = {
  quality: ['standard', 'hd', 'low', 'medium', 'high', 'auto'],
  style: ['vivid', 'natural'],
  responseFormat: ['url', 'b64_json'],
  background: ['transparent', 'opaque', 'auto'],
  moderation: ['low', 'auto'],
  outputFormat: ['png', 'jpeg', 'webp'],
} as const;

const NAMES = {
  quality: 'quality',
  style: 'style',
  responseFormat: 'response_format',
  background: 'background',
  moderation: 'moderation',
  outputFormat: 'output_format',
} as const satisfies Record<keyof typeof WORDS, string>;

const SIZE = /^(?:auto|[1-9]\d{1,4}x[1-9]\d{1,4})$/;
/** Sizes of the models that have few. */
const SIZES: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^dall-e-2$/, ['256x256', '512x512', '1024x1024']],
  [/^dall-e-3$/, ['1024x1024', '1792x1024', '1024x1792']],
  [/^gpt-image-1(?:-mini|\.5)?$/, ['auto', '1024x1024', '1536x1024', '1024x1536']],
];

/** What a request must have for the check. */
export type ImageWords = Pick<CreateImageRequest, 'model' | 'n' | 'size' | 'stream' | keyof typeof WORDS>;

/** @throws GatewayError `validation_failed` naming every member whose value OpenAI does not have */
export function checkImageWords({ id }: ProviderEntry, request: Partial<ImageWords>): void {
  if (id !== 'openai') return;
  const faults: Violation[] = [];
  for (const name of Object.keys(WORDS) as (keyof typeof WORDS)[]) {
    const [value, words] = [request[name], WORDS[name] as readonly string[]];
    if (value === undefined || words.includes(value)) continue;
    faults.push({ field: NAMES[name], rule: 'in', message: `must be one of ${words.join(', ')}` });
  }
  const { model = '', size, n, stream } = request;
  const sizes = SIZES.find(([pattern]) => pattern.test(model))?.[1];
  if (size !== undefined && sizes !== undefined && !sizes.includes(size))
    faults.push({ field: 'size', rule: 'in', message: `must be one of ${sizes.join(', ')} with ${model}` });
  else if (size !== undefined && !SIZE.test(size))
    faults.push({
      field: 'size',
      rule: 'pattern',
      message: 'must be auto, or width and height as 1024x1024',
    });
  if (model === 'dall-e-3' && n !== undefined && n > 1)
    faults.push({ field: 'n', rule: 'lte', message: 'must be 1 with dall-e-3' });
  if (stream === true && model.startsWith('dall-e'))
    faults.push({ field: 'stream', rule: 'in', message: `must be false with ${model}` });
  if (faults.length > 0) throw validationFailed(faults);
}
