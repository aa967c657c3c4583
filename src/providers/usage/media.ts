// What is charged of media in place of tokens or in addition to them: images, seconds, characters, pages. It travels with
// the usage, in members that no provider's report has.
import { create, type JsonObject } from '@bufbuild/protobuf';
import { type Usage, UsageSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import { isObject } from '../json-object.ts';
import { MOST_REPORTED, type UsageReport } from './report.ts';

/** Counts of one call. */
export interface MediaCounts {
  /** Images that were made, and of what kind: `<quality>.<size>`. */
  readonly images?: number;
  readonly imageKind?: string;
  /** Milliseconds of audio input. */
  readonly audioMs?: number;
  /** Characters that were spoken. */
  readonly characters?: number;
  /** Pages that were read. */
  readonly pages?: number;
  /** Milliseconds of video that was made. */
  readonly videoMs?: number;
  /** Tokens that a model was trained on. */
  readonly trainedTokens?: number;
}

/** The member of `Usage.extra` that holds them; a provider's report that has it is refused. */
export const MEDIA = 'gateway_media';

const COUNTS = [
  'images',
  'imageKind',
  'audioMs',
  'characters',
  'pages',
  'videoMs',
  'trainedTokens',
] as const satisfies readonly (keyof MediaCounts)[];

/** Tokens that are estimated where the provider's report of them was refused, by OpenAI's names. */
export interface EstimatedTokens {
  readonly input: number;
  readonly outputImages: number;
}

/**
 * The usage with what is counted.
 * @param tokens as the provider reported them @param estimated in place of a report that was refused
 */
export function mediaUsage(
  counts: MediaCounts,
  tokens?: UsageReport,
  estimated: EstimatedTokens = { input: 0, outputImages: 0 },
): Usage {
  const known = Object.fromEntries(Object.entries(counts).filter(([, count]) => isTrue(count))) as JsonObject;
  if (tokens === 'refused') {
    const { input, outputImages: made } = estimated;
    return create(UsageSchema, {
      promptTokens: BigInt(input),
      completionTokens: BigInt(made),
      totalTokens: BigInt(input + made),
      completionTokensDetails: { extra: { image_tokens: made } },
      extra: { [MEDIA]: { ...known, refused: true } },
    });
  }
  const base = tokens ?? create(UsageSchema);
  return create(UsageSchema, { ...base, extra: { ...base.extra, [MEDIA]: known } });
}

/** What is counted of media in a usage, by the names of its record. */
export function mediaIn({ extra }: Usage): MediaCounts {
  const media = extra?.[MEDIA];
  if (!isObject(media)) return {};
  const known = COUNTS.filter((name) => media[name] !== undefined && isTrue(media[name]));
  return Object.fromEntries(known.map((name) => [name, media[name]]));
}

/** Whether the tokens of a usage are an estimate because the provider's report of them was refused. */
export function hasRefusedTokens({ extra }: Usage): boolean {
  const media = extra?.[MEDIA];
  return isObject(media) && media.refused === true;
}

function isTrue(count: unknown): boolean {
  if (typeof count !== 'number') return typeof count === 'string';
  return Number.isSafeInteger(count) && count >= 0 && count <= MOST_REPORTED;
}

/** The kind of images by which they are priced. A name that is not given is `default`. */
export function imageKind(quality: string | undefined, size: string | undefined): string {
  return `${nameOf(quality)}.${nameOf(size)}`;
}

/** Names stand in keys of prices: what could not be one is left out. */
function nameOf(name: string | undefined): string {
  const plain = (name ?? '').toLowerCase();
  return /^[a-z0-9][a-z0-9_:x-]{0,63}$/.test(plain) ? plain : 'default';
}
