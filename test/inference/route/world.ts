// A world for routes: a clock that jumps, targets that behave as they are told, and a record of all of it.

import { Configs } from '../../../src/inference/plan/configs.ts';
import type { TargetPlan, WholePlan } from '../../../src/inference/plan/plan.ts';
import type { PlanDeps } from '../../../src/inference/plan/plan-deps.ts';
import { planOf, type Routing } from '../../../src/inference/plan/select.ts';
import { AffinityStore } from '../../../src/inference/route/affinity.ts';
import { circuitsOf, localCircuits } from '../../../src/inference/route/circuits.ts';
import { reasonOf } from '../../../src/inference/route/linked.ts';
import { Loads } from '../../../src/inference/route/loads.ts';
import type { RoutePorts } from '../../../src/inference/route/ports.ts';
import { Route } from '../../../src/inference/route/route.ts';
import { StickyStore, stickyTargets } from '../../../src/inference/route/sticky.ts';
import type { Step } from '../../../src/inference/route/trace.ts';
import { Aborter, type AbortLike } from '../../../src/lib/abort.ts';
import { fail, type GatewayError } from '../../../src/lib/errors.ts';
import { GatewayHeaders, HeaderNames } from '../../../src/lib/gateway-headers.ts';
import { authHeaders } from '../../../src/providers/auth/index.ts';
import { providerById } from '../../../src/providers/catalog/registry.ts';
import { locate } from '../../../src/providers/locate.ts';
import { callWith } from '../../support/calls.ts';

/** What a target does with one call, after so many milliseconds. */
export type Behaviour =
  | { readonly kind: 'ok'; readonly ms: number; readonly status?: number }
  | { readonly kind: 'status'; readonly ms: number; readonly status: number; readonly retryAfterMs?: number }
  | { readonly kind: 'unreachable'; readonly ms: number }
  | { readonly kind: 'hang' }
  | { readonly kind: 'bug'; readonly ms: number };

/** One call of a target. */
export interface Made {
  readonly path: string;
  readonly at: number;
  readonly provider: string;
  readonly host: string;
  readonly credential: string;
  endedAt: number | undefined;
  outcome: 'ok' | 'failed' | 'aborted' | undefined;
}

export interface Answer {
  readonly made: Made;
  readonly status: number;
  discarded: boolean;
}

/** A dialer gives a silent provider up after this long. */
const SILENCE_MS = 300_000;
export const CALLERS_CREDENTIAL = 'sk-of-the-caller';

export interface WorldFacts {
  readonly config: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** How the nth call of a target goes. */
  readonly behave: (path: string, nth: number) => Behaviour;
  readonly random?: () => number;
  readonly params?: unknown;
  readonly withinMs?: number;
  /** Absent: it is. */
  readonly idempotent?: boolean;
}

/** One call's world. */
export class World {
  now = 1_000_000;
  readonly made: Made[] = [];
  readonly answers: Answer[] = [];
  readonly steps: Step[] = [];
  readonly signal = new Aborter();
  readonly #timers: { readonly at: number; readonly run: () => void }[] = [];
  readonly #facts: WorldFacts;
  readonly routing: Routing;
  readonly route: Route<Answer>;
  readonly circuits = localCircuits(() => this.now);
  readonly loads = new Loads();
  readonly sticky = new StickyStore(undefined, () => this.now);
  readonly affinity = new AffinityStore(undefined, () => this.now);

  constructor(facts: WorldFacts) {
    this.#facts = facts;
    const call = callWith({
      headers: {
        'x-gateway-config': JSON.stringify(facts.config),
        ...facts.headers,
      },
      members: { presentedKey: 'slk_mine', providerCredential: CALLERS_CREDENTIAL },
    });
    const routing = planOf(call, { deps: planFacts, configs: new Configs(planFacts) }, undefined);
    if (routing instanceof Promise) throw new Error('nothing is to be looked up');
    this.routing = routing;
    this.route = new Route(this.ports(call.headers), facts.withinMs);
  }

  get plan(): WholePlan {
    return this.routing.plan;
  }

  /** Another call in the same world. */
  again(): Route<Answer> {
    return new Route(this.ports(new GatewayHeaders(names, this.#facts.headers ?? {})));
  }

  ports(headers: GatewayHeaders): RoutePorts<Answer> {
    const metadata = (): unknown => JSON.parse(headers.get('metadata') ?? '{}');
    const params = (): unknown => this.#facts.params ?? {};
    return {
      attempt: (target, signal) => this.#attempt(target, signal),
      idempotent: this.#facts.idempotent ?? true,
      statusOf: ({ status }) => status,
      discard: (answer) => {
        if (answer.discarded) throw new Error('discarded twice');
        answer.discarded = true;
      },
      sleep: (ms, signal) => this.sleep(ms, signal),
      now: () => this.now,
      random: this.#facts.random ?? (() => 0.5),
      circuits: circuitsOf(this.circuits, 'org', 'ws', (target) => this.routing.bind(target)),
      sticky: stickyTargets(this.sticky, this.affinity, {
        organisationId: 'org',
        workspaceId: 'ws',
        plan: this.plan,
        headers,
        metadata,
        params,
      }),
      loads: this.loads,
      conditions: {
        metadata,
        params,
        pathname: '/v1/chat/completions',
        matches: async (pattern, text) => pattern.test(text),
      },
      trace: (step) => void this.steps.push(step),
    };
  }

  async #attempt(target: TargetPlan, signal: AbortLike): Promise<Answer> {
    const { target: bound } = await this.routing.bind(target);
    const [, header = ''] = authHeaders(bound);
    const made: Made = {
      path: target.path,
      at: this.now,
      provider: bound.provider.id,
      host: locate(bound, undefined, undefined).origin,
      credential: header.replace(/^Bearer /, ''),
      endedAt: undefined,
      outcome: undefined,
    };
    const nth = this.made.filter(({ path }) => path === target.path).length;
    this.made.push(made);
    const behaviour = this.#facts.behave(target.path, nth);
    const end = (outcome: Made['outcome']): void => {
      made.endedAt = this.now;
      made.outcome = outcome;
    };
    try {
      await this.sleep(behaviour.kind === 'hang' ? SILENCE_MS : behaviour.ms, signal);
    } catch (error) {
      end('aborted');
      throw error;
    }
    if (behaviour.kind === 'ok') {
      end('ok');
      const answer = { made, status: behaviour.status ?? 200, discarded: false };
      this.answers.push(answer);
      return answer;
    }
    end('failed');
    throw errorOf(behaviour);
  }

  sleep(ms: number, signal: AbortLike): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(reasonOf(signal));
      const timer = { at: this.now + ms, run: () => over(resolve) };
      const aborted = (): void => over(() => reject(reasonOf(signal)));
      const over = (then: () => void): void => {
        const index = this.#timers.indexOf(timer);
        if (index !== -1) this.#timers.splice(index, 1);
        signal.removeEventListener('abort', aborted);
        then();
      };
      this.#timers.push(timer);
      signal.addEventListener('abort', aborted);
    });
  }

  /** Timers that nobody ended. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Aborts the call at a time. */
  leaveAt(ms: number): void {
    const at = this.now + ms;
    this.#timers.push({ at, run: () => this.signal.abort(fail('client_closed', 'the client has left')) });
  }

  /** Lets time pass until the promise settles. @throws Error when nothing is left to wait for */
  async until<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    const over = promise.then(settle, settle);
    for (;;) {
      await new Promise(setImmediate);
      if (settled) break;
      const next = this.#timers.reduce((a, b) => (b.at < a.at ? b : a), this.#timers[0]!);
      if (next === undefined) throw new Error('it hangs: nothing is left to wait for');
      this.#timers.splice(this.#timers.indexOf(next), 1);
      this.now = Math.max(this.now, next.at);
      next.run();
    }
    await over;
    return promise;
  }
}

const names = new HeaderNames(['x-gateway-']);
const planFacts: PlanDeps = {
  providerById,
  checkHost: () => {},
  isOwnKey: (text) => text.startsWith('slk_'),
  resolveConfig: () => undefined,
  resolveProvider: () => undefined,
  defaultConfig: () => undefined,
  ownsHeader: (name) => name.startsWith('x-gateway-'),
  readGuardrails: () => undefined,
  joinGuardrails: (outer, inner) => inner ?? outer,
};

function errorOf(behaviour: Exclude<Behaviour, { kind: 'ok' }>): GatewayError | Error {
  switch (behaviour.kind) {
    case 'status':
      return fail('upstream_status', 'no', {
        status: behaviour.status,
        ...(behaviour.retryAfterMs === undefined ? {} : { retryAfterMs: behaviour.retryAfterMs }),
      });
    case 'unreachable':
      return fail('upstream_unreachable', 'nobody there');
    case 'hang':
      return fail('upstream_timeout', 'silent');
    case 'bug':
      return new TypeError('a bug');
  }
}
