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

/** What some models have less of than others. */
interface Model {
  readonly sizes?: readonly string[];
  readonly qualities: readonly string[];
  /** Longest prompt, in characters. */
  readonly prompt?: number;
}

const OF_GPT = ['low', 'medium', 'high', 'auto'];
const MODELS: readonly (readonly [RegExp, Model])[] = [
  [
    /^dall-e-2$/,
    { sizes: ['256x256', '512x512', '1024x1024'], qualities: ['standard', 'auto'], prompt: 1000 },
  ],
  [
    /^dall-e-3$/,
    {
      sizes: ['1024x1024', '1792x1024', '1024x1792'],
      qualities: ['standard', 'hd', 'auto'],
      prompt: 4000,
    },
  ],
  [
    /^gpt-image-1(?:-mini|\.5)?$/,
    { sizes: ['auto', '1024x1024', '1536x1024', '1024x1536'], qualities: OF_GPT },
  ],
  [/^gpt-image-/, { qualities: OF_GPT }],
];

/** What a request must have for the check. */
export type ImageWords = Pick<
  CreateImageRequest,
  'model' | 'n' | 'prompt' | 'size' | 'stream' | keyof typeof WORDS
>;

/** @throws GatewayError `validation_failed` naming every member whose value OpenAI does not have */
export function checkImageWords({ ownWords }: ProviderEntry, request: Partial<ImageWords>): void {
  if (!ownWords) return;
  const faults: Violation[] = [];
  const { model = '', size, n, stream, prompt = '', quality } = request;
  const { sizes, qualities, prompt: longest } = MODELS.find(([pattern]) => pattern.test(model))?.[1] ?? {};
  for (const name of Object.keys(WORDS) as (keyof typeof WORDS)[]) {
    const [value, words] = [request[name], WORDS[name] as readonly string[]];
    if (value === undefined || words.includes(value)) continue;
    faults.push({ field: NAMES[name], rule: 'in', message: `must be one of ${words.join(', ')}` });
  }
  if (
    quality !== undefined &&
    WORDS.quality.some((word) => word === quality) &&
    qualities?.includes(quality) === false
  )
    faults.push({
      field: 'quality',
      rule: 'in',
      message: `must be one of ${qualities.join(', ')} with ${model}`,
    });
  if (longest !== undefined && prompt.length > longest && [...prompt].length > longest)
    faults.push({
      field: 'prompt',
      rule: 'max_len',
      message: `must be at most ${longest} characters with ${model}`,
    });
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
