// One question to a service that gives tokens, through the egress dialer: bounded in bytes and in time. It belongs to
// all calls that wait for the token, so that none of them ends it by leaving.
import { Aborter } from '../../lib/abort.ts';
import type { Dialer } from '../../lib/egress/outbound.ts';
import { fail } from '../../lib/errors.ts';

const MOST_BYTES = 256 * 1024;
const DEADLINE_MS = 10_000;

/** What the service answered. */
export interface Exchanged {
  readonly status: number;
  readonly text: string;
}

/** What is asked. */
export interface Question {
  readonly method?: 'GET' | 'POST';
  /** Flat pairs. */
  readonly headers: readonly string[];
  readonly body?: string;
}

/** Asks. @throws GatewayError upstream_timeout, upstream_unreachable and its like, host_refused */
export async function exchange(
  dialer: Pick<Dialer, 'whole'>,
  url: URL,
  { method = 'POST', headers, body }: Question,
): Promise<Exchanged> {
  const aborter = new Aborter();
  const late = fail('upstream_timeout', `${url.host} gave no token within ${DEADLINE_MS / 1000} seconds`);
  const timer = setTimeout(() => aborter.abort(late), DEADLINE_MS);
  try {
    const request = {
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers: ['accept', 'application/json', 'user-agent', 'sluice', ...headers],
      body,
      signal: aborter,
    };
    const answer = await dialer.whole(request, MOST_BYTES);
    return { status: answer.status, text: Buffer.from(answer.body).toString('utf8') };
  } finally {
    clearTimeout(timer);
  }
}
