// The ports of a call's route that are the same whatever is called: clock, chance, breakers, conditions.
import { setTimeout as wait } from 'node:timers/promises';
import type { Call } from '../../call/call.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { readTimeout } from '../../lib/request-timeout.ts';
import { readMetadataJson } from '../plan/request-settings.ts';
import type { Routing } from '../plan/select.ts';
import { circuitsOf } from '../route/circuits.ts';
import { reasonOf } from '../route/linked.ts';
import type { RoutePorts } from '../route/ports.ts';
import { stickyTargets } from '../route/sticky.ts';
import type { Trace } from '../route/trace.ts';
import type { Pipeline } from './pipeline.ts';

/** What conditions and explanations see of a call. */
export interface WorldInput {
  readonly params: () => unknown;
  readonly pathname: string;
  readonly trace: Trace | undefined;
}

/** Everything but how a target is called, and what its answers are. */
export function worldOf(
  { routes }: Pipeline,
  call: Call,
  routing: Routing,
  { params, pathname, trace }: WorldInput,
): Omit<RoutePorts<never>, 'attempt' | 'cached' | 'statusOf' | 'discard' | 'idempotent'> {
  const organisationId = call.principal?.organisationId ?? '';
  const workspaceId = call.principal?.workspaceId ?? '';
  const metadata = once(() => ({
    ...call.clientMetadata,
    ...(readMetadataJson(call.headers) as object),
    ...call.defaultMetadata,
  }));
  return {
    sleep,
    now: () => performance.now(),
    random: Math.random,
    circuits: circuitsOf(routes.circuits, organisationId, workspaceId, (target) => routing.bind(target)),
    sticky: stickyTargets(routes.sticky, routes.affinity, {
      organisationId,
      workspaceId,
      plan: routing.plan,
      headers: call.headers,
      metadata,
      params,
    }),
    loads: routes.loads,
    conditions: {
      metadata,
      params,
      pathname,
      matches: routes.matcher({ organisationId, workspaceId }),
    },
    trace,
  };
}

/** What is left of the time that the caller gave the whole call; undefined when it gave none. */
export function remainingMs(call: Call): number | undefined {
  const ms = readTimeout(call.headers);
  return ms === undefined ? undefined : ms - call.elapsedMs();
}

/** A value read when it is first asked for. */
export function once<T>(read: () => T): () => T {
  let known: { readonly value: T } | undefined;
  return () => {
    known ??= { value: read() };
    return known.value;
  };
}

/** Ends a stream that is not read any further. Whole answers have ended already. */
export function discard(answer: object): void {
  if (!(Symbol.asyncIterator in answer)) return;
  const iterator = (answer as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  void iterator.return?.()?.catch(() => {});
}

/** Waits; ends with the signal's reason when it is aborted. */
export async function sleep(ms: number, signal: AbortLike): Promise<void> {
  if (signal.aborted) throw reasonOf(signal);
  const over = new AbortController();
  const end = (): void => over.abort();
  signal.addEventListener('abort', end);
  try {
    await wait(ms, undefined, { signal: over.signal });
  } catch {
    throw reasonOf(signal);
  } finally {
    signal.removeEventListener('abort', end);
  }
}
