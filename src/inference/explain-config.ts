// What a config would do: its plan, the conditions as they come out, and the targets in the order of their turn.
import { create, type JsonObject } from '@bufbuild/protobuf';
import {
  type ConfigExplanation,
  ConfigExplanationSchema,
  type ExplainConfigRequest,
} from '../../gen/gateway/inference/v2/config_pb.ts';
import type { Call } from '../call/call.ts';
import { GatewayError, invalidField } from '../lib/errors.ts';
import { planJson } from './pipeline/explain.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { type ConditionContext, holds } from './plan/condition.ts';
import { type Plan, targetsOf, type WholePlan } from './plan/plan.ts';
import { canonical, readMetadataJson } from './plan/request-settings.ts';
import { routingOf } from './plan/select.ts';
import { circuitOf } from './route/circuits.ts';

/** The methods of ConfigExplanationService. */
export function configExplanationService(pipeline: Pipeline) {
  return {
    explainConfig: (request: ExplainConfigRequest, call: Call) => explain(pipeline, request, call),
  };
}

async function explain(
  pipeline: Pipeline,
  request: ExplainConfigRequest,
  call: Call,
): Promise<ConfigExplanation> {
  const plan = await planFor(pipeline, request, call);
  const context: ConditionContext = {
    metadata: () => request.metadata ?? readMetadataJson(call.headers),
    params: () => request.params ?? {},
    pathname: request.path ?? '/v1/chat/completions',
    matches: pipeline.routes.matcher({
      organisationId: call.principal?.organisationId ?? '',
      workspaceId: call.principal?.workspaceId,
    }),
  };
  const conditions: JsonObject[] = [];
  const targets = await inTurn(plan.root, context, conditions);
  return create(ConfigExplanationSchema, {
    object: 'config.explanation',
    plan: planJson(plan.root),
    conditions,
    targets: [...targets],
    maxAttempts: plan.maxAttempts,
    circuits: await circuitsOf(pipeline, plan, call),
    passedOver: [...passedOver(plan.root)],
  });
}

async function planFor(
  { planner: { configs } }: Pipeline,
  { config }: ExplainConfigRequest,
  call: Call,
): Promise<WholePlan> {
  const tenant = {
    organisationId: call.principal?.organisationId ?? '',
    workspaceId: call.principal?.workspaceId,
  };
  const given = config?.kind;
  if (given?.case === 'inline') return configs.readJson(given.value, tenant);
  const text = given?.case === 'id' ? given.value : call.headers.get('config');
  const where = given?.case === 'id' ? 'config' : canonical(call.headers, 'config');
  if (text === undefined) throw invalidField('config', 'is required here or as a header');
  return configs.read(text, where, tenant);
}

/** Breakers of the targets; none where the call brings no credential to tell them by. */
async function circuitsOf(pipeline: Pipeline, plan: WholePlan, call: Call): Promise<JsonObject[]> {
  const watched = plan.targets.filter(({ breaker }) => breaker !== undefined);
  if (watched.length === 0) return [];
  const { organisationId = '', workspaceId = '' } = call.principal ?? {};
  const circuits: JsonObject[] = [];
  try {
    const routing = await routingOf(call, plan, pipeline.planner);
    for (const target of watched) {
      const bound = await routing.bind(target);
      const circuit = await circuitOf(pipeline.routes.circuits, organisationId, workspaceId, bound);
      const { state, failures, outcomes, openUntil } = circuit;
      circuits.push({ path: target.path, state, failures, outcomes, open_until: openUntil });
    }
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
  }
  return circuits;
}

/** Paths of the targets that no call tries. */
function passedOver(plan: Plan): readonly string[] {
  const below = plan.kind === 'target' ? [] : plan.targets.flatMap(passedOver);
  return [...(plan.passedOver ?? []), ...below];
}

/** Paths of the targets, those tried first in front. */
async function inTurn(
  plan: Plan,
  context: ConditionContext,
  conditions: JsonObject[],
): Promise<readonly string[]> {
  switch (plan.kind) {
    case 'target':
      return [plan.path];
    case 'fallback': {
      const paths: string[] = [];
      for (const target of plan.targets) paths.push(...(await inTurn(target, context, conditions)));
      return paths;
    }
    case 'balance':
      // Which one is left to chance: the likeliest first.
      return [...plan.targets]
        .sort((a, b) => b.weight - a.weight)
        .flatMap((one) => targetsOf(one).map(({ path }) => path));
    case 'conditional': {
      for (const { condition, query, target } of plan.rules) {
        const held = await holds(condition, context);
        const { path } = plan.targets[target]!;
        conditions.push({ path: plan.path, query: query as JsonObject, held, target: path });
        if (held) return inTurn(plan.targets[target]!, context, conditions);
      }
      return plan.otherwise === undefined ? [] : inTurn(plan.targets[plan.otherwise]!, context, conditions);
    }
  }
}
