// The response cache as a gateway has it: in Redis when there is one, else in this process.
import { hkdfSync } from 'node:crypto';
import type { SharedState } from '../../store/shared-state.ts';
import { createLocalAnswers } from './local-answers.ts';
import { createLocalVectors } from './local-vectors.ts';
import { createResponseCache, type ResponseCache } from './response-cache.ts';
import { createSharedAnswers } from './shared-answers.ts';
import { createSharedVectors } from './shared-vectors.ts';

export interface OpenCacheOptions {
  /** What instances share; undefined: there is one instance. */
  readonly state: SharedState | undefined;
  /** Most bytes of answers: of this process, or of an organisation in the shared store. Vectors get a quarter in addition. */
  readonly bytes: number;
  /** 32 bytes, from which the secret of the keys is derived (RFC 5869), so that keys cannot be computed from requests. */
  readonly encryptionKey: Uint8Array;
}

/** Builds the cache. Holds no socket, file or timer of its own: there is nothing to close. */
export function openResponseCache({ state, bytes, encryptionKey }: OpenCacheOptions): ResponseCache {
  const secret = new Uint8Array(hkdfSync('sha256', encryptionKey, '', 'response cache', 32));
  const vectorBytes = Math.floor(bytes / 4);
  const local = createLocalVectors({ maxBytes: vectorBytes });
  if (state === undefined)
    return createResponseCache({ answers: createLocalAnswers({ maxBytes: bytes }), vectors: local, secret });
  return createResponseCache({
    answers: createSharedAnswers({ state, maxBytes: bytes }),
    vectors: createSharedVectors({ state, maxBytes: vectorBytes, local }),
    secret,
  });
}
