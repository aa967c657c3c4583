// A header that says something else than the body.
import type { RequestId } from './json-rpc.ts';
import { McpError, RPC } from './mcp-error.ts';

/** Headers by lower-case name. */
export type HeaderOf = (name: string) => string | undefined;

/** HTTP 400, code -32020. @param header its value; undefined: it is missing */
export function mismatch(id: RequestId | null, header: string | undefined, body: string): McpError {
  return new McpError(RPC.headerMismatch, `Bad Request: the request headers and body disagree: ${body}`, {
    id,
    data: { mismatch: { header: header === undefined ? '(missing)' : told(header), body } },
  });
}

/** A caller's text, cut where an error repeats it. */
export function told(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
