// What was done for a call and why, for callers that ask with x-gateway-explain: true. Whole answers carry it as
// the member `gateway_explain`, streams as the same member of their first event, errors next to their message:
// a member that no client looks for disturbs none, and no header would be long enough.
import type { JsonObject } from '@bufbuild/protobuf';
import type { Call } from '../../call/call.ts';
import type { HookRun } from '../../checks/runner/hook-result.ts';
import type { GatewayError } from '../../lib/errors.ts';
import type { AffinityPlan, ConditionalPlan, Plan, TargetPlan, WholePlan } from '../plan/plan.ts';
import type { Step, Trace } from '../route/trace.ts';
import { errorWithMembers, withMembers } from './members.ts';

/** Steps that are kept of one call. */
const MOST_STEPS = 500;

/** One call's explanation. */
export class Explanation {
  readonly #plan: WholePlan;
  readonly #steps: Step[] = [];
  /** What other stages add, e.g. the cache's key. */
  readonly facts: Record<string, unknown> = {};

  constructor(plan: WholePlan) {
    this.#plan = plan;
  }

  readonly trace: Trace = (step) => {
    if (this.#steps.length < MOST_STEPS) this.#steps.push(step);
  };

  /** What the guardrails said; a stream's are known up to its first event. */
  guardrails(input: HookRun | undefined, output: HookRun | undefined): void {
    if (input ?? output) this.facts.guardrails = { input: verdictsOf(input), output: verdictsOf(output) };
  }

  /** The error of a denied call, with the guardrails that denied it. */
  denied(
    error: GatewayError,
    call: Call,
    input: HookRun | undefined,
    output: HookRun | undefined,
  ): GatewayError {
    this.guardrails(input, output);
    return this.onError(error, call);
  }

  /** The answer with its explanation; a stream with it on the first event. */
  on<Answer extends object>(answer: Answer, call: Call): Answer {
    return withMembers(answer, { gateway_explain: this.#json(call) });
  }

  /** The error with its explanation. */
  onError(error: GatewayError, call: Call): GatewayError {
    return errorWithMembers(error, { gateway_explain: this.#json(call) });
  }

  #json({ record }: Call): JsonObject {
    return plain({
      plan: planJson(this.#plan.root),
      max_attempts: this.#plan.maxAttempts,
      steps: this.#steps,
      target: record.targetPath || null,
      retries: record.retries,
      ...(record.dropped === undefined ? {} : { dropped: record.dropped }),
      attempts: record.attempts.map(({ provider, host, model, statusCode, outcome, latencyMs, error }) => ({
        provider,
        host,
        model,
        status: statusCode,
        outcome,
        ms: latencyMs,
        ...(error === undefined ? {} : { error: error.reason }),
      })),
      ...this.facts,
      cache: { status: record.cacheStatus, ...(this.facts.cache as object | undefined) },
    });
  }
}

/** Each hook with its verdict and those of its checks. What the checks found is in `hook_results`. */
function verdictsOf(run: HookRun | undefined) {
  return run?.results.map((hook) =>
    'verdict' in hook
      ? {
          id: hook.id,
          verdict: hook.verdict,
          deny: hook.deny,
          ms: hook.execution_time,
          checks: hook.checks.map(({ id, verdict, execution_time: ms, error }) => ({
            id,
            verdict,
            ms,
            error,
          })),
        }
      : { id: hook.id, skipped: true },
  );
}

/** A plan as JSON, without its credentials. */
export function planJson(plan: Plan): JsonObject {
  const { path, name, hedge, passedOver } = plan;
  const common = {
    kind: plan.kind,
    path,
    name,
    passed_over: passedOver,
    hedge: hedge && { after_ms: hedge.afterMs, max: hedge.max },
  };
  if (plan.kind === 'target') return plain({ ...common, ...targetJson(plan) });
  return plain({
    ...common,
    ...(plan.kind === 'fallback' ? { on_status_codes: plan.onStatuses && [...plan.onStatuses] } : {}),
    ...(plan.kind === 'balance'
      ? {
          algorithm: plan.algorithm,
          sticky: plan.sticky && { ttl: plan.sticky.ttlMs / 1000 },
          affinity: affinityJson(plan.affinity),
        }
      : {}),
    ...(plan.kind === 'conditional' ? conditionsJson(plan) : {}),
    targets: plan.targets.map((target) =>
      plan.kind === 'balance' ? { weight: target.weight, ...planJson(target) } : planJson(target),
    ),
  });
}

function affinityJson(affinity: AffinityPlan | undefined) {
  if (affinity === undefined) return undefined;
  const { field, ttlMs, minTokens } = affinity;
  return {
    key: field && [field.root, ...field.path].join('.'),
    ttl: ttlMs === undefined ? undefined : ttlMs / 1000,
    min_tokens: minTokens,
  };
}

function conditionsJson({ rules, otherwise, targets }: ConditionalPlan) {
  return {
    conditions: rules.map(({ query, target }) => ({ query, name: targets[target]!.name })),
    default: otherwise === undefined ? undefined : targets[otherwise]!.name,
  };
}

function targetJson(plan: TargetPlan) {
  const { provider, slug, customHost, timeoutMs, params, retry, breaker, cache } = plan;
  return {
    provider: provider?.id ?? (slug === undefined ? 'as the headers select' : `@${slug}`),
    custom_host: customHost,
    request_timeout: timeoutMs,
    on_client_cut: plan.onClientCut,
    override_params: params && [...Object.keys(params.overrides)],
    default_params: params && [...Object.keys(params.defaults)],
    drop_params: params?.drops.map((path) => path.join('.')),
    retry: retry && { attempts: retry.attempts, on_status_codes: [...retry.statuses] },
    cb_config: breaker && {
      failure_threshold: breaker.failures,
      failure_threshold_percentage: breaker.percent,
      cooldown_interval: breaker.cooldownMs,
    },
    cache: cache && { mode: cache.mode, max_age: cache.maxAgeSeconds },
  };
}

/** As JSON says it: without what is undefined. */
export function plain(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}
