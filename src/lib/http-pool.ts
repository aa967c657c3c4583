// Kept connections to one server that an operator's setting names.
import type { Dispatcher } from 'undici';

export interface PoolRequest {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  /** With its query. */
  readonly path: string;
  /** Flat pairs. */
  readonly headers: string[];
  readonly body?: Uint8Array;
}

/** Answers, as far as they are read. */
export type PoolAnswer = Pick<Dispatcher.ResponseData, 'statusCode' | 'body'>;

export interface HttpPool {
  /** Ends within the wait of the pool. */
  request(asked: PoolRequest): Promise<PoolAnswer>;
  close(): Promise<void>;
}

/** @param origin scheme, host and port @param waitMs for an answer, and between two pieces of it */
export async function openHttpPool(origin: string, waitMs: number): Promise<HttpPool> {
  const { Pool } = await import('undici');
  const pool = new Pool(origin, { connections: 16, headersTimeout: waitMs, bodyTimeout: waitMs });
  return {
    request: ({ body, ...asked }) =>
      pool.request({
        ...asked,
        ...(body === undefined ? {} : { body: Buffer.from(body.buffer, body.byteOffset, body.length) }),
        signal: AbortSignal.timeout(waitMs),
      }),
    close: () => pool.close(),
  };
}
