// Lists of models that providers page by tokens, where the gateway's callers page by ids: the gateway reads all pages, in
// as few calls as they allow, and makes pages of its own.

/** Most models that such a provider gives at once (Gemini API, `pageSize`; Cohere API, `page_size`). */
export const PAGE_SIZE = 1000;
const MARK = 'next_page_token=';

/** The `after` of a request for the page that a token names. */
export function afterToken(token: string): string {
  return MARK + token;
}

/** The token of a request; undefined: it asks for the first page. An id of a model means nothing to these providers. */
export function tokenOf(after: string | undefined): string | undefined {
  return after?.startsWith(MARK) ? after.slice(MARK.length) : undefined;
}
