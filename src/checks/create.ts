// Puts the room together: what the composition root calls once.
import type { Dialer } from '../lib/egress/outbound.ts';
import type { Clock, NameResolver } from './contract/check.ts';
import { createIntrospection } from './outward/introspection.ts';
import { createKeySets } from './outward/key-set-cache.ts';
import { systemResolver } from './outward/name-resolver.ts';
import {
  createGuardrailRunner,
  type GuardrailRunner,
  type RunnerOptions,
} from './runner/guardrail-runner.ts';
import type { RunnerDeps } from './runner/run-check.ts';
import { createSandbox, type SandboxOptions } from './sandbox/pool.ts';

/** What the room needs of the outside. */
export interface ChecksOptions extends Omit<RunnerOptions, 'deps'> {
  readonly dialer: Dialer;
  /** Whether a lower-case header name is one of the gateway's own; see HeaderNames.owns. */
  ownsHeader(name: string): boolean;
  readonly clock?: Clock;
  readonly resolver?: NameResolver;
  readonly sandbox?: SandboxOptions;
  /** Told of faults of the gateway's own, for the log. */
  report?(error: unknown, check: string): void;
}

/** The room at work. */
export interface Checks {
  readonly runner: GuardrailRunner;
  readonly deps: RunnerDeps;
  /** Waits for async hooks, at most so many milliseconds, and ends the workers. Resolves with how many were ended. */
  close(ms: number): Promise<number>;
}

/** Nothing is started before it is needed. */
export function createChecks(options: ChecksOptions): Checks {
  const { dialer, ownsHeader, report, resolver = systemResolver } = options;
  const clock = options.clock ?? { now: Date.now };
  const sandbox = createSandbox(options.sandbox);
  const keySets = createKeySets(dialer, clock);
  const introspection = createIntrospection(clock);
  const deps: RunnerDeps = {
    dialer,
    sandbox,
    keySets,
    introspection,
    resolver,
    clock,
    ownsHeader,
    ...(report ? { report } : {}),
  };
  const runner = createGuardrailRunner({ ...options, deps });
  return {
    runner,
    deps,
    async close(ms) {
      const ended = await runner.drain(ms);
      await sandbox.close();
      return ended;
    },
  };
}
