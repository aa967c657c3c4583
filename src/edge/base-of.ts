// Where the sender of a request reaches the gateway.
import type { IncomingMessage } from 'node:http';

const HOST = /^(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** Without a slash at the end. @param publicUrl of the settings; undefined: by the Host of the request */
export function baseOf(publicUrl: string | undefined, req: IncomingMessage): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  const scheme = 'encrypted' in req.socket ? 'https' : 'http';
  const host = req.headers.host ?? (req.headers[':authority'] as string | undefined) ?? '';
  const base = `${scheme}://${host}`;
  return HOST.test(host) && URL.canParse(base) ? base : `${scheme}://localhost`;
}
