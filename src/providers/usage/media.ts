// What is charged of media in place of tokens or in addition to them: images, seconds, characters, pages. It travels with
// the usage, in members that no provider's report has.
import { create, type JsonObject } from '@bufbuild/protobuf';
import { type Usage, UsageSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
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

/** The member of `Usage.extra` that holds them. */
export const MEDIA = 'gateway_media';

/** The usage with what is counted. @param tokens as the provider reported them */
export function mediaUsage(counts: MediaCounts, tokens?: UsageReport): Usage {
  const known = Object.fromEntries(Object.entries(counts).filter(([, count]) => isTrue(count))) as JsonObject;
  const base = tokens === undefined || tokens === 'refused' ? create(UsageSchema) : tokens;
  return create(UsageSchema, { ...base, extra: { ...base.extra, [MEDIA]: known } });
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
