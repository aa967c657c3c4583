// The pipeline, put together.
import { createChecks } from '../../checks/create.ts';
import { guardrailLimits, joinGuardrails, parseGuardrails } from '../../checks/guardrails.ts';
import type { Guardrails, Hook } from '../../checks/hook.ts';
import { CallBudget } from '../../checks/sandbox/call-budget.ts';
import type { Sandbox } from '../../checks/sandbox/sandbox.ts';
import { measured } from '../../ledger/tokens/counter.ts';
import type { Dialer } from '../../lib/egress/outbound.ts';
import type { HeaderNames } from '../../lib/gateway-headers.ts';
import type { ModelCatalogue } from '../../providers/catalog/models.ts';
import type { Dialects } from '../../providers/dialects/registry.ts';
import type { SharedState } from '../../store/shared-state.ts';
import { openResponseCache } from '../cache/open-cache.ts';
import { createCredentials } from '../credentials/credentials.ts';
import type { CredentialDeps } from '../credentials/identity.ts';
import { Configs } from '../plan/configs.ts';
import type { PlanDeps } from '../plan/plan-deps.ts';
import { createAnswerReader } from '../reading/reader.ts';
import { AffinityStore } from '../route/affinity.ts';
import { localCircuits } from '../route/circuits.ts';
import { Loads } from '../route/loads.ts';
import { StickyStore } from '../route/sticky.ts';
import { type CircuitCounts, watchedCircuits } from '../route/watched-circuits.ts';
import { Drains } from './drains.ts';
import type { Pipeline, RouteDeps } from './pipeline.ts';
import { type GuardrailSource, PlanGuardrails } from './plan-guardrails.ts';

/** What the composition knows. */
export interface PipelineParts {
  readonly dialer: Dialer;
  readonly dialects: Dialects;
  /** The process's own environment, and whether stored providers may be called with the identity that it has. */
  readonly own: Pick<CredentialDeps, 'environment' | 'fileAllow'> & { readonly identity: readonly string[] };
  readonly models: ModelCatalogue;
  readonly names: HeaderNames;
  readonly plans: Pick<PlanDeps, 'providerById' | 'checkHost' | 'isOwnKey'> & Partial<PlanDeps>;
  /** Guardrails that are saved. */
  readonly guardrails?: GuardrailSource;
  /** What instances share; undefined when there is one. */
  readonly state: SharedState | undefined;
  readonly flights?: Pipeline['flights'];
  /** Limits of targets; absent: nothing is limited. */
  readonly targets?: Pipeline['targets'];
  /** Absent: raw paths are governed, bodies held up to 25 MiB. */
  readonly raw?: Pipeline['raw'];
  readonly cache: { readonly bytes: number; readonly secret: Uint8Array };
  /** Told of failures in the background of a call, for the log. */
  readonly onTrouble: (error: unknown, what: string) => void;
  /** Told what an asynchronous guardrail came to: its call has been answered. */
  readonly onGuardrail?: ((verdict: LateVerdict) => void) | undefined;
  readonly keepsLate?: Pipeline['keepsLate'];
  readonly keepsBodies: Pipeline['keepsBodies'];
  readonly keepsWords: Pipeline['keepsWords'];
  readonly countTexts?: Pipeline['countTexts'] | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** What an asynchronous guardrail came to. Of what was said, nothing. */
export interface LateVerdict {
  readonly organisationId: string;
  readonly requestId: string | undefined;
  readonly traceId: string | undefined;
  readonly guardrail: string;
  readonly verdict: boolean;
  readonly failedChecks: readonly string[];
  readonly ms: number;
}

/** The pipeline of all model calls, and how it ends. */
export interface OpenPipeline {
  readonly pipeline: Pipeline;
  readonly circuits: CircuitCounts;
  /** Waits for background work, at most so many milliseconds. */
  close(ms: number): Promise<void>;
}

/** Makes the pipeline. */
export function createPipeline(parts: PipelineParts): OpenPipeline {
  const { dialer, dialects, models, names, own, plans, state, cache, now, onTrouble } = parts;
  const checks = createChecks({
    dialer,
    ownsHeader: (name) => names.owns(name),
    clock: { now },
    report: (error, check) => onTrouble(error, `the check ${check}`),
    onAsync: (result, { organisationId, traceId, requestId }) =>
      parts.onGuardrail?.({
        organisationId,
        requestId,
        traceId,
        guardrail: result.id,
        verdict: result.verdict,
        failedChecks: result.checks.filter(({ verdict }) => !verdict).map(({ id }) => id),
        ms: result.execution_time,
      }),
    onDropped: droppedHooks(now, onTrouble),
  });
  const saved = parts.guardrails && new PlanGuardrails(parts.guardrails);
  const deps: PlanDeps = {
    guarded: saved && ((plan, tenant) => saved.guarded(plan, tenant)),
    resolveConfig: () => undefined,
    resolveProvider: () => undefined,
    defaultConfig: () => undefined,
    ownsHeader: (name) => names.owns(name),
    readGuardrails: parseGuardrails,
    guardrailLimits,
    joinGuardrails: (outer, inner) =>
      joinGuardrails(outer as Guardrails | undefined, inner as Guardrails | undefined),
    ...plans,
  };
  const { circuits, counts } = watchedCircuits(state ?? localCircuits(now));
  const pipeline: Pipeline = {
    dialer,
    dialects,
    credentials: createCredentials({ dialer, now, ...own, ownIdentity: own.identity }),
    models,
    planner: { deps, configs: new Configs(deps) },
    routes: {
      loads: new Loads(),
      circuits,
      sticky: new StickyStore(state, now),
      affinity: new AffinityStore(state, now),
      matcher: matching(checks.deps.sandbox),
    },
    drains: new Drains(),
    answers: createAnswerReader(),
    cache: openResponseCache({ state, bytes: cache.bytes, encryptionKey: cache.secret }),
    checks,
    savedGuardrails: saved,
    keepsLate: parts.keepsLate,
    flights: parts.flights,
    targets: parts.targets,
    raw: parts.raw ?? { paths: 'govern', bodyLimit: 25 * 1024 * 1024 },
    keepsBodies: parts.keepsBodies,
    keepsWords: parts.keepsWords,
    fileInputs: { current: undefined },
    countTexts: parts.countTexts ?? (async (texts) => texts.map(measured)),
    now,
  };
  return {
    pipeline,
    circuits: counts,
    async close(ms) {
      pipeline.drains.stop();
      const ended = await checks.close(ms);
      await pipeline.answers.close();
      if (ended > 0) onTrouble(undefined, `${ended} asynchronous guardrails that had not ended`);
    },
  };
}

/** Between two lines of the log about the same trouble, in milliseconds: it comes when there is much to do already. */
const QUIET_MS = 10_000;

/** Tells of asynchronous guardrails that were not run, of many together. */
function droppedHooks(now: () => number, onTrouble: PipelineParts['onTrouble']): (hook: Hook) => void {
  let dropped = 0;
  let quietUntil = 0;
  return ({ id }) => {
    dropped++;
    if (now() < quietUntil) return;
    onTrouble(
      undefined,
      `${dropped} asynchronous guardrails were not run to their end, the last of them ${id}`,
    );
    dropped = 0;
    quietUntil = now() + QUIET_MS;
  };
}

/** Workers' time for the conditions of one call, in milliseconds. */
const MOST_CONDITIONS_MS = 1000;

/**
 * Users' patterns, each tried in a worker or, where its steps are known to be few and the event loop has them to spare,
 * at once.
 */
function matching(sandbox: Sandbox): RouteDeps['matcher'] {
  return (line) => {
    const owner = { ...line, budget: new CallBudget(MOST_CONDITIONS_MS) };
    return async (pattern, text, steps) => {
      if (steps !== undefined && sandbox.spare(steps)) return pattern.test(text);
      try {
        const { source, flags } = pattern;
        const [match] = await sandbox.match(owner, { source, flags }, [text]);
        return match !== null && match !== undefined;
      } catch {
        return undefined;
      }
    };
  };
}
