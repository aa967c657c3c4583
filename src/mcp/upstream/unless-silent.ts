// Waits for an upstream whose silence has a bound, which may change meanwhile: a server that has asked the user waits.
import { fail } from '../../lib/errors.ts';

/** How long a silence may be. */
export interface SilenceBound {
  /** Asked whenever a wait seems to be over, in milliseconds. */
  readonly boundMs: () => number;
  /** Of `performance.now`: silence counts from then at the earliest; absent: from the wait's beginning. */
  readonly notBefore?: () => number;
}

/** @throws GatewayError upstream_timeout */
export async function* unlessSilent(
  body: AsyncIterable<Uint8Array>,
  bound: SilenceBound,
): AsyncGenerator<Uint8Array, void> {
  const pieces = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await soon(pieces.next(), bound);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await pieces.return?.();
  }
}

/** @throws GatewayError upstream_timeout */
export function soon<T>(promise: Promise<T>, { boundMs, notBefore }: SilenceBound): Promise<T> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const left = (): number => Math.max(began, notBefore?.() ?? 0) + boundMs() - performance.now();
    const look = (): void => {
      const ms = left();
      if (ms > 0) timer = setTimeout(look, Math.ceil(ms));
      else reject(fail('upstream_timeout', `the MCP server fell silent in its answer for ${boundMs()} ms`));
    };
    let timer = setTimeout(look, boundMs());
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
