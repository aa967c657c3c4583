// Citations of a text block (Anthropic, "Citations" and "Web search tool") as OpenAI's url_citation annotations.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject, textOf } from '../../json-object.ts';

/** Annotations of the text between two characters: of its sources that have an address. */
export function annotations(citations: JsonValue | undefined, start: number, end: number): JsonObject[] {
  return arrayOf(citations)
    .filter(isObject)
    .flatMap((citation) => {
      const url = textOf(citation.url) ?? addressIn(citation.source);
      if (url === undefined) return [];
      const title = textOf(citation.title) ?? '';
      return [{ type: 'url_citation', url_citation: { url, title, start_index: start, end_index: end } }];
    });
}

/** The source of a search result may be an address, or any other name. */
function addressIn(source: JsonValue | undefined): string | undefined {
  return typeof source === 'string' && /^https?:\/\//i.test(source) ? source : undefined;
}
