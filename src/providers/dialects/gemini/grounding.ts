// Where grounded answers come from (Gemini API, "Grounding with Google Search"), as OpenAI's url_citation annotations.
import type { JsonObject } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';

/** Annotations of a text; empty without sources. @param text what the segments' byte offsets count in */
export function annotations(grounding: JsonObject | undefined, text: string): JsonObject[] {
  if (grounding === undefined) return [];
  const sources = arrayOf(grounding.groundingChunks).map((chunk) => {
    const web = isObject(chunk)
      ? (objectOf(chunk.web) ?? objectOf(chunk.retrievedContext) ?? objectOf(chunk.maps))
      : undefined;
    return web && { url: textOf(web.uri) ?? '', title: textOf(web.title) ?? '' };
  });
  const bytes = Buffer.from(text);
  /** Gemini counts bytes of UTF-8, OpenAI characters. */
  const character = (at: unknown): number =>
    typeof at === 'number' && at > 0 ? bytes.subarray(0, at).toString('utf8').length : 0;
  return arrayOf(grounding.groundingSupports)
    .filter(isObject)
    .flatMap((support) => {
      const segment = objectOf(support.segment) ?? {};
      const range = { start_index: character(segment.startIndex), end_index: character(segment.endIndex) };
      return arrayOf(support.groundingChunkIndices).flatMap((index) => {
        const source = typeof index === 'number' ? sources[index] : undefined;
        return source === undefined ? [] : [{ type: 'url_citation', url_citation: { ...range, ...source } }];
      });
    });
}
