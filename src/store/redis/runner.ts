// Runs scripts on Redis: by their digest, with their text where the server does not know it; each call has a
// deadline and the calls under way a bound.
import { createHash } from 'node:crypto';
import { fail } from '../../lib/errors.ts';
import { urlText } from '../../lib/url-text.ts';
import type { ArgsOf, RunScript, ScriptName } from '../shared/scripts.ts';
import type { Client } from './connections.ts';
import { PRELUDE, type RedisScript, type Reply } from './script.ts';
import { writesTogether } from './turn.ts';

export type ScriptSet = { readonly [N in ScriptName]: RedisScript<N> };

export interface RunnerBounds {
  readonly deadlineMs: number;
  /** Calls sent and not answered; those above it are refused. */
  readonly maxQueued: number;
  /** Milliseconds, for tests: scripts then take this clock for Redis's. */
  readonly testClock?: () => number;
}

/** The prefix of all keys of an organisation; what is in braces decides a cluster's node. */
export function keyPrefix(organisationId: string): string {
  return `sluice:{${urlText(organisationId)}}:`;
}

interface Loaded {
  readonly text: string;
  readonly digest: string;
}

/** Runs a call within a deadline, a bounded number at once; rejects with `store_unavailable`. */
export type Within = <T>(call: () => Promise<T>, deadlineMs?: number) => Promise<T>;

export interface Runner {
  readonly run: RunScript;
  /** Any call with the same deadline, bound and failures. */
  readonly within: Within;
}

export function scriptRunner(client: Client, scripts: ScriptSet, bounds: RunnerBounds): Runner {
  const loaded = new Map<ScriptName, Loaded>();
  const within = boundedCalls(bounds);
  const together = writesTogether(client);

  function load(name: ScriptName): Loaded {
    let found = loaded.get(name);
    if (found === undefined) {
      const text = PRELUDE + scripts[name].lua;
      found = { text, digest: createHash('sha1').update(text).digest('hex') };
      loaded.set(name, found);
    }
    return found;
  }

  async function evaluate(
    name: ScriptName,
    bytes: boolean,
    rest: (string | number | Buffer)[],
  ): Promise<Reply> {
    const { text, digest } = load(name);
    together();
    const send = (command: string, body: string): Promise<unknown> =>
      bytes ? client.callBuffer(command, [body, '1', ...rest]) : client.call(command, [body, '1', ...rest]);
    try {
      return (await send('EVALSHA', digest)) as Reply;
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return (await send('EVAL', text)) as Reply;
    }
  }

  return {
    within,
    run: async <N extends ScriptName>(
      name: N,
      organisationId: string,
      args: ArgsOf<N>,
      deadlineMs?: number,
    ) => {
      const script: RedisScript<N> = scripts[name];
      const clock = bounds.testClock === undefined ? '' : String(Math.round(bounds.testClock() * 1000));
      const rest = [keyPrefix(organisationId), clock, ...script.encode(args)];
      const reply = await within(() => evaluate(name, script.bytes === true, rest), deadlineMs);
      try {
        return script.decode(reply, args);
      } catch (cause) {
        // What stands between may answer anything.
        throw fail('store_unavailable', 'the shared store gave an answer that is none', { cause });
      }
    },
  };
}

export function boundedCalls(bounds: Pick<RunnerBounds, 'deadlineMs' | 'maxQueued'>): Within {
  let queued = 0;
  return function within<T>(call: () => Promise<T>, deadlineMs = bounds.deadlineMs): Promise<T> {
    if (queued >= bounds.maxQueued) {
      return Promise.reject(
        fail('store_unavailable', 'the shared store has too much to do', { retryAfterMs: 1000 }),
      );
    }
    queued++;
    return new Promise<T>((resolve, reject) => {
      const late = (): void =>
        reject(
          fail('store_unavailable', 'the shared store did not answer in time; the step may have been made'),
        );
      // Once more round the event loop: where it was held up, timers come first, and the reply may be there unread.
      const alarm = setTimeout(() => setImmediate(late), Math.min(deadlineMs, bounds.deadlineMs));
      call()
        .then(resolve, (cause: unknown) =>
          reject(
            fail('store_unavailable', 'the shared store failed; the step may have been made', { cause }),
          ),
        )
        .finally(() => {
          clearTimeout(alarm);
          queued--;
        });
    });
  };
}
