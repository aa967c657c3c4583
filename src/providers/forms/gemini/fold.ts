// The responses of one streamed answer put together, as it would have come whole.
import type { JsonObject } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf } from '../../json-object.ts';
import { keepMembers } from '../../kept-members.ts';
import { mergeUsage } from '../../merge-usage.ts';

/** Answers of one call at the most. */
const MOST_CANDIDATES = 128;

/** Takes the responses of one stream. */
export class GeminiFold {
  readonly #head: JsonObject = {};
  readonly #candidates = new Map<number, JsonObject>();
  #usage: JsonObject | undefined;

  push(response: JsonObject): void {
    const { candidates, usageMetadata, ...head } = response;
    keepMembers(this.#head, head);
    const counts = objectOf(usageMetadata);
    if (counts !== undefined) this.#usage = mergeUsage(this.#usage, counts);
    for (const candidate of arrayOf(candidates)) if (isObject(candidate)) this.#candidate(candidate);
  }

  #candidate(candidate: JsonObject): void {
    const index = typeof candidate.index === 'number' ? candidate.index : 0;
    const before = this.#candidates.get(index);
    if (before === undefined && this.#candidates.size >= MOST_CANDIDATES) return;
    const { content, ...rest } = candidate;
    const said = objectOf(content);
    const parts = partsIn(before);
    for (const part of arrayOf(said?.parts)) if (isObject(part)) join(parts, part);
    const kept = before ?? { content: null };
    kept.content = { ...said, parts };
    keepMembers(kept, rest);
    this.#candidates.set(index, kept);
  }

  /** The whole answer. */
  response(): JsonObject {
    return {
      candidates: [...this.#candidates.values()],
      ...(this.#usage === undefined ? {} : { usageMetadata: this.#usage }),
      ...this.#head,
    };
  }
}

function partsIn(candidate: JsonObject | undefined): JsonObject[] {
  return arrayOf(objectOf(candidate?.content)?.parts) as JsonObject[];
}

/** Texts that follow each other are one; a signature ends one. */
function join(parts: JsonObject[], part: JsonObject): void {
  const last = parts.at(-1);
  const joins =
    typeof part.text === 'string' &&
    typeof last?.text === 'string' &&
    part.thought === last.thought &&
    last.thoughtSignature === undefined;
  if (!joins) {
    if (Object.keys(part).length > 1 || part.text !== '') parts.push({ ...part });
    return;
  }
  last!.text = String(last!.text) + String(part.text);
  if (part.thoughtSignature !== undefined) last!.thoughtSignature = part.thoughtSignature;
}
