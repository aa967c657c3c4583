// What is charged of text from speech: the tokens that the provider counts, or else the audio's length.
import type { JsonObject } from '@bufbuild/protobuf';
import type { MessageJson } from '../dialect.ts';
import { isObject } from '../json-object.ts';
import { mediaUsage } from './media.ts';
import type { UsageReport } from './report.ts';
import { readUsage, usageIn } from './tap.ts';

/** What an answer, or an event, says of its usage: tokens, or else the length of the audio. */
export function transcriptionUsage(json: MessageJson, answer: JsonObject): UsageReport {
  const { usage, duration } = answer;
  const seconds = isObject(usage) && usage.type === 'duration' ? usage.seconds : undefined;
  const counts = seconds === undefined ? usageIn(answer) : undefined;
  const tokens = counts && readUsage(json, counts);
  if (tokens !== undefined) return tokens;
  const length = Number(seconds ?? duration ?? Number.NaN);
  if (!Number.isFinite(length) || length < 0) return undefined;
  return mediaUsage({ audioMs: Math.round(length * 1000) });
}
