// What clients serve of themselves, a metadata document or public keys: fetched through the egress firewall. Redirects are
// not followed.
import type { Dialer, WholeAnswer } from '../../lib/egress/outbound.ts';
import { OauthError } from './oauth-error.ts';

/** How long a fetch may take, in milliseconds. */
export const FETCH_MS = 5000;
const HEADERS = ['accept', 'application/json', 'accept-encoding', 'identity', 'user-agent', 'sluice-gateway'];

export interface ClientFetch {
  /** What is said of the document when its address fails: begins the reason. */
  readonly subject: string;
  readonly mostBytes: number;
}

/** @param read makes something of an answer with status 200 @throws OauthError invalid_client */
export async function fetchOfClient<T>(
  dialer: Pick<Dialer, 'whole'>,
  { origin, pathname, search }: URL,
  { subject, mostBytes }: ClientFetch,
  read: (answer: WholeAnswer) => T,
): Promise<T> {
  const request = {
    origin,
    path: pathname + search,
    method: 'GET',
    headers: HEADERS,
    body: undefined,
    signal: AbortSignal.timeout(FETCH_MS),
    headTimeoutMs: FETCH_MS,
    idleTimeoutMs: FETCH_MS,
  };
  try {
    const answer = await dialer.whole(request, mostBytes);
    if (answer.status !== 200) throw refusedDocument(`${subject}answers with ${answer.status}`);
    return read(answer);
  } catch (error) {
    if (error instanceof OauthError) throw error;
    throw refusedDocument(`${subject}cannot be fetched from here`);
  }
}

export function refusedDocument(why: string): OauthError {
  return new OauthError('invalid_client', `client_id: its metadata document ${why}`);
}
