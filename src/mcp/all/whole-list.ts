// One server's whole list, all pages, within a bound: a server that is away or slow costs the others no more than that.
import { Aborter } from '../../lib/abort.ts';
import { fail, toGatewayError } from '../../lib/errors.ts';
import { framesOf } from '../bridge/bridge-deps.ts';
import { garbage } from '../relay/answer-check.ts';
import type { Asked, Relayed } from '../relay/asked.ts';
import { MOST_ITEMS } from '../visibility.ts';
import { isObject, type JsonObject, type RpcResponse } from '../wire/json-rpc.ts';
import { RPC, toMcpError } from '../wire/mcp-error.ts';

/** How long a server may take for its lists, in milliseconds. */
export const LIST_MS = 5000;
const MOST_PAGES = 100;

/** What a server has of one list, or why it is missing. */
export interface ServerList {
  readonly slug: string;
  readonly items: readonly JsonObject[];
  readonly missing?: { readonly server: string; readonly reason: string; readonly message: string };
}

/**
 * Never throws for what the server does.
 * @param send asks the server for a page
 * @throws the reason of the client's signal, when it leaves
 */
export async function wholeList(
  asked: Pick<Asked, 'server' | 'signal'>,
  member: string,
  send: (signal: Asked['signal'], cursor: string | undefined) => Promise<Relayed>,
): Promise<ServerList> {
  const { server, signal } = asked;
  const { slug } = server;
  const aborter = new Aborter();
  try {
    const items = await within(
      signal,
      aborter,
      pages(member, (cursor) => send(aborter, cursor)),
    );
    return { slug, items };
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    const { message } = toMcpError(thrown, null);
    return { slug, items: [], missing: { server: slug, reason: toGatewayError(thrown).reason, message } };
  }
}

async function pages(
  member: string,
  page: (cursor: string | undefined) => Promise<Relayed>,
): Promise<JsonObject[]> {
  const items: JsonObject[] = [];
  let cursor: string | undefined;
  for (let count = 0; count < MOST_PAGES; count++) {
    const { result = {}, error } = await responseOf(await page(cursor));
    // A server without such a list contributes no entries.
    if (error?.code === RPC.methodNotFound) return items;
    if (error !== undefined) throw fail('upstream_status', 'the MCP server refused to list');
    for (const item of (result[member] ?? []) as readonly unknown[]) if (isObject(item)) items.push(item);
    if (items.length > MOST_ITEMS) throw garbage(`lists more than ${MOST_ITEMS} items`);
    cursor = typeof result.nextCursor === 'string' ? result.nextCursor : undefined;
    if (cursor === undefined) return items;
  }
  throw garbage(`lists more than ${MOST_PAGES} pages`);
}

async function responseOf(answer: Relayed): Promise<RpcResponse> {
  for await (const { response } of framesOf(answer)) if (response !== undefined) return response;
  throw garbage('did not answer');
}

/** Aborts the work with the client, and when it takes too long. */
function within<T>(signal: Asked['signal'], aborter: Aborter, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (why: Error): void => {
      reject(why);
      aborter.abort(why);
    };
    const leave = (): void => end(signal.reason as Error);
    const late = fail('upstream_timeout', `the MCP server did not list within ${LIST_MS} ms`);
    const timer = setTimeout(() => end(late), LIST_MS);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
    });
  });
}
