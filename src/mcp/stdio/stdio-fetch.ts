// A program's session as `fetch` reaches servers of streamable HTTP: for the official client.
import { Aborter } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';
import type { Lines } from '../lines/lines.ts';

export interface StdioFetch {
  readonly fetch: typeof fetch;
  /** Ends the sessions that were begun by it. */
  close(): Promise<void>;
}

const SESSION = 'mcp-session-id';

/** @param url `stdio:<name>` @param owner whose sessions they are */
export function stdioFetch(programs: Pick<Lines, 'exchange'>, url: string, owner: string): StdioFetch {
  const target = { origin: url, path: '', headers: [], owner };
  const sessions = new Set<string>();
  const own: typeof fetch = async (_, init = {}) => {
    const aborter = new Aborter();
    const leave = (): void => aborter.abort(fail('client_closed', 'it is not waited for any more'));
    if (init.signal?.aborted) leave();
    init.signal?.addEventListener('abort', leave);
    const { status, header, body } = await programs.exchange(target, {
      method: (init.method ?? 'GET') as 'POST',
      headers: [...new Headers(init.headers)].flat(),
      body: typeof init.body === 'string' ? init.body : '',
      signal: aborter,
    });
    const session = header(SESSION);
    if (session !== undefined) sessions.add(session);
    const headers: [string, string][] = ['content-type', SESSION].flatMap((name) => {
      const value = header(name);
      return value === undefined ? [] : [[name, value] as [string, string]];
    });
    return new Response(status === 202 ? null : ReadableStream.from(body), { status, headers });
  };
  return {
    fetch: own,
    async close() {
      for (const session of sessions) {
        const headers = [SESSION, session];
        await programs.exchange(target, { method: 'DELETE', headers, signal: new Aborter() });
      }
      await programs.exchange(target, { method: 'DELETE', headers: [], signal: new Aborter() });
    },
  };
}
