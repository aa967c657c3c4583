// Requests of the protocol as they stand on the wire.
import { WORKSPACE_KEY } from '../gateway.ts';

export const MODERN = '2026-07-28';

export interface WireAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The response: the JSON body, or the last event's data that has an id. */
  readonly json: Record<string, unknown> & {
    readonly result?: Record<string, unknown>;
    readonly error?: {
      readonly code: number;
      readonly message: string;
      readonly data?: Record<string, unknown>;
    };
  };
}

const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, sampling: {}, roots: {} },
};

/** A request of revision 2026-07-28 with the headers that it needs. */
export function modern(
  url: string,
  method: string,
  params: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<WireAnswer> {
  const named = params.name ?? params.uri;
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } };
  return post(url, JSON.stringify(body), {
    'mcp-protocol-version': MODERN,
    'mcp-method': method,
    ...(typeof named === 'string' ? { 'mcp-name': named } : {}),
    ...headers,
  });
}

/** Any body. */
export async function post(
  url: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<WireAnswer> {
  const answer = await fetch(url, {
    method: 'POST',
    body,
    headers: {
      authorization: `Bearer ${WORKSPACE_KEY}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, json: jsonOf(text) };
}

function jsonOf(text: string): WireAnswer['json'] {
  const datas = [...text.matchAll(/^data: ?(\{.*)$/gm)].map(
    ([, data]) => JSON.parse(data!) as WireAnswer['json'],
  );
  const last = datas.findLast((data) => 'id' in data);
  if (last !== undefined) return last;
  try {
    return JSON.parse(text) as WireAnswer['json'];
  } catch {
    return {};
  }
}
