// A call of a command to a gateway: JSON there and back.
import { Agent, fetch } from 'undici';

export interface JsonCall {
  readonly verb: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body?: string | undefined;
  /** Whether any certificate is taken: of a gateway whose own socket told the address. */
  readonly trusted?: boolean;
  /** Milliseconds. */
  readonly timeoutMs: number;
}

let trusting: Agent | undefined;

/** The status and the JSON of the answer; `undefined` for an answer that is none. @throws Error of the network */
export async function jsonCall({ verb, url, headers, body, trusted, timeoutMs }: JsonCall): Promise<{
  readonly status: number;
  readonly json: unknown;
}> {
  if (trusted) trusting ??= new Agent({ connect: { rejectUnauthorized: false } });
  const answer = await fetch(url, {
    method: verb,
    headers,
    signal: AbortSignal.timeout(timeoutMs),
    ...(body === undefined ? {} : { body }),
    ...(trusted && trusting !== undefined ? { dispatcher: trusting } : {}),
  });
  return { status: answer.status, json: await answer.json().catch(() => undefined) };
}
