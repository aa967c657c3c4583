// What other wires prove their thoughts with, kept in the signature of a thinking block until the client sends it back:
// the Messages API has no other member that its clients return untouched.
import type { JsonObject } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf, parsedObject, textOf } from '../../json-object.ts';

const PREFIX = 'sluice.';

/** Whether a text of a request may hold such a signature. */
export const MARK = `"${PREFIX}`;

/** The signature of a thinking block that another wire made. @param own members to be given back to that wire */
export function keptSignature(own: JsonObject = {}): string {
  if (Object.keys(own).length === 0) return PREFIX;
  return PREFIX + Buffer.from(JSON.stringify(own)).toString('base64url');
}

/** The members of a signature that was made here; undefined for one of Anthropic's own. */
export function keptIn(signature: unknown): JsonObject | undefined {
  if (typeof signature !== 'string' || !signature.startsWith(PREFIX)) return undefined;
  const text = signature.slice(PREFIX.length);
  return text === '' ? {} : (parsedObject(Buffer.from(text, 'base64url').toString('utf8')) ?? {});
}

/** `reasoning_details` as a signature keeps them: only the service that gave them knows them. Undefined: there are none. */
export function keptDetails(details: readonly JsonObject[], provider: string): JsonObject | undefined {
  return details.length === 0 ? undefined : { reasoning_details: [...details], provider };
}

/** Those that go back to a provider. @param own of a signature that was made here */
export function detailsFor({ reasoning_details: details, provider }: JsonObject, to: string): JsonObject[] {
  return provider === to ? arrayOf(details).filter(isObject) : [];
}

/**
 * Sources of a text that another wire named (`url_citation`), as those of a search. The index, which Anthropic wants back
 * with its own, says that it is none.
 */
export function citationsIn(extra: JsonObject | undefined): JsonObject[] {
  return arrayOf(extra?.annotations).flatMap((annotation) => {
    if (!isObject(annotation) || annotation.type !== 'url_citation') return [];
    const { url, title, content } = objectOf(annotation.url_citation) ?? annotation;
    if (textOf(url) === undefined) return [];
    return [
      {
        type: 'web_search_result_location',
        url: url!,
        title: textOf(title) ?? null,
        encrypted_index: PREFIX,
        cited_text: textOf(content) ?? '',
      },
    ];
  });
}

/** Whether a citation was made here. */
export function isKeptCitation(citation: unknown): boolean {
  return isObject(citation) && citation.encrypted_index === PREFIX;
}

/** The request's body without what another wire proved or cited: Anthropic refuses signatures and indexes that are not its own. */
export function withoutKept(body: JsonObject): JsonObject {
  const { messages } = body;
  if (!Array.isArray(messages)) return body;
  return {
    ...body,
    messages: messages.flatMap((message) => {
      if (!isObject(message) || !Array.isArray(message.content)) return [message];
      const content = message.content
        .filter((block) => !(isObject(block) && keptIn(block.signature) !== undefined))
        .map((block) => (isObject(block) ? withoutCitations(block) : block));
      return content.length === 0 && message.content.length > 0 ? [] : [{ ...message, content }];
    }),
  };
}

function withoutCitations(block: JsonObject): JsonObject {
  const { citations, ...rest } = block;
  if (!Array.isArray(citations) || !citations.some(isKeptCitation)) return block;
  const own = citations.filter((citation) => !isKeptCitation(citation));
  return own.length === 0 ? rest : { ...rest, citations: own };
}
