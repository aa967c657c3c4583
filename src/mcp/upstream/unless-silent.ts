// A body whose silence has a bound, which may change while it is read: a server that has asked the user something waits.
import { fail } from '../../lib/errors.ts';

/** @param boundMs asked before each piece, in milliseconds @throws GatewayError upstream_timeout */
export async function* unlessSilent(
  body: AsyncIterable<Uint8Array>,
  boundMs: () => number,
): AsyncGenerator<Uint8Array, void> {
  const pieces = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await soon(pieces.next(), boundMs());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await pieces.return?.();
  }
}

function soon<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(fail('upstream_timeout', `the MCP server fell silent in its answer for ${ms} ms`)),
      ms,
    );
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
