// Which web pages may call: a browser names its page's origin, and a page of another site must not use what only this
// machine, or a company's network, can reach (DNS rebinding).
import type { IncomingMessage } from 'node:http';

export interface OriginRules {
  /** Allowed origins; `*` allows every one. */
  readonly origins: readonly string[];
  /** Where people reach the gateway. */
  readonly publicUrl: string | undefined;
  /** The address that it listens at. */
  readonly host: string;
}

const LOOPBACK = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;

/** Whether a request without an Origin, or with this one, may be answered. */
export function isKnownOrigin({ origins, publicUrl, host }: OriginRules, req: IncomingMessage): boolean {
  const isLoopback = /^(?:localhost$|127\.|::1$)/.test(host);
  // A gateway of this machine alone, at an address that none of its names has: a name was bound anew.
  const named = hostname(`http://${req.headers.host ?? 'localhost'}`);
  if (isLoopback && publicUrl === undefined && (named === undefined || !LOOPBACK.test(named))) return false;
  const { origin } = req.headers;
  if (origin === undefined || origin === '') return true;
  if (origins.includes('*') || origins.includes(origin)) return true;
  if (publicUrl !== undefined && new URL(publicUrl).origin === origin) return true;
  const from = hostname(origin);
  return isLoopback && from !== undefined && LOOPBACK.test(from);
}

function hostname(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}
