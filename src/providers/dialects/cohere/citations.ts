// Citations (Cohere, "RAG citations"): spans of the answer's text and the documents or tool results that they cite.
import type { JsonObject } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';

/** OpenAI's url_citation annotations, of sources that have an address. */
export function annotations(citations: readonly JsonObject[]): JsonObject[] {
  return citations.flatMap(({ start, end, sources }) =>
    arrayOf(sources)
      .filter(isObject)
      .flatMap((source) => {
        const holder = objectOf(source.document) ?? objectOf(source.tool_output);
        const url = textOf(holder?.url);
        if (url === undefined) return [];
        const range = { start_index: indexOf(start), end_index: indexOf(end) };
        return [
          { type: 'url_citation', url_citation: { ...range, url, title: textOf(holder?.title) ?? '' } },
        ];
      }),
  );
}

function indexOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
