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
  const character = charactersOf(text);
  const supports = arrayOf(grounding.groundingSupports).filter(isObject);
  if (supports.length === 0) {
    // Some models name their sources without the segments that they support.
    const range = { start_index: 0, end_index: text.length };
    return sources.flatMap((source) =>
      source === undefined ? [] : [{ type: 'url_citation', url_citation: { ...range, ...source } }],
    );
  }
  return supports.flatMap((support) => {
    const segment = objectOf(support.segment) ?? {};
    const range = { start_index: character(segment.startIndex), end_index: character(segment.endIndex) };
    return arrayOf(support.groundingChunkIndices).flatMap((index) => {
      const source = typeof index === 'number' ? sources[index] : undefined;
      return source === undefined ? [] : [{ type: 'url_citation', url_citation: { ...range, ...source } }];
    });
  });
}

/** Gemini counts bytes of UTF-8, OpenAI characters. */
function charactersOf(text: string): (at: unknown) => number {
  const bytes = Buffer.from(text);
  return (at) => (typeof at === 'number' && at > 0 ? bytes.subarray(0, at).toString('utf8').length : 0);
}

/** Where a text was taken from (`citationMetadata`: `citationSources`, or `citations` on Vertex AI). */
export function recitations(cited: JsonObject | undefined, text: string): JsonObject[] {
  if (cited === undefined) return [];
  const character = charactersOf(text);
  return [...arrayOf(cited.citationSources), ...arrayOf(cited.citations)].filter(isObject).flatMap((one) => {
    const url = textOf(one.uri);
    if (url === undefined) return [];
    const range = { start_index: character(one.startIndex), end_index: character(one.endIndex) };
    return [{ type: 'url_citation', url_citation: { ...range, url, title: textOf(one.title) ?? '' } }];
  });
}
