// The price that an integration sets for one of its models, in US dollars by what is counted.
import { dollarsOf } from './dollars.ts';
import type { Price, RateName } from './price.ts';

/** Our names of rates, by the names in `pay_as_you_go`; of two names for one rate the first counts. */
const NAMES: readonly (readonly [string, RateName])[] = [
  ['request_token', 'input'],
  ['request_text_token', 'input'],
  ['response_token', 'output'],
  ['response_text_token', 'output'],
  ['cache_read_input_token', 'cacheRead'],
  ['cache_write_input_token', 'cacheWrite'],
  ['cache_write_1h_input_token', 'cacheWrite1h'],
  ['reasoning_token', 'reasoning'],
  ['request_audio_token', 'inputAudio'],
  ['response_audio_token', 'outputAudio'],
  ['cache_read_audio_input_token', 'cacheReadAudio'],
  ['request_image_token', 'inputImage'],
  ['response_image_token', 'outputImage'],
  ['request', 'perCall'],
  ['search', 'perSearch'],
  ['web_search', 'perWebSearch'],
  ['audio_second', 'perAudioSecond'],
  ['video_second', 'perVideoSecond'],
  ['character', 'perCharacter'],
  ['page', 'perPage'],
  ['trained_token', 'perTrainedToken'],
];

/** Images by their kind: `image.<quality>.<size>`. */
const IMAGE = 'image.';

/** As a price; finer rates than 1e-12 USD are cut. */
export function priceOfRates(rates: Readonly<Record<string, number>>): Price {
  const price: { -readonly [K in RateName]?: number } & { images?: Record<string, number> } = {};
  for (const [theirs, own] of NAMES) {
    const dollars = rates[theirs];
    if (dollars !== undefined) price[own] ??= Number(dollarsOf(dollars));
  }
  for (const [name, dollars] of Object.entries(rates)) {
    if (!name.startsWith(IMAGE)) continue;
    price.images ??= {};
    price.images[name.slice(IMAGE.length)] = Number(dollarsOf(dollars));
  }
  return price;
}
