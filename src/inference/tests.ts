// Tries stored providers and guardrails, as calls would use them.
import { create, type JsonObject } from '@bufbuild/protobuf';
import { ListModelsRequestSchema, ModelsService } from '../../gen/gateway/inference/v2/models_pb.ts';
import {
  type GuardrailTest,
  GuardrailTestSchema,
  type ProviderTest,
  ProviderTestSchema,
  type TestGuardrailRequest,
  type TestProviderRequest,
} from '../../gen/gateway/inference/v2/tests_pb.ts';
import type { UsableProvider } from '../access/providers/usable-provider.ts';
import { Call } from '../call/call.ts';
import type { Principal } from '../call/principal.ts';
import type { CheckResult } from '../checks/runner/hook-result.ts';
import { CallBudget } from '../checks/sandbox/call-budget.ts';
import { requestBody, responseBody } from '../checks/view/body-of.ts';
import type { Traffic } from '../checks/view/traffic.ts';
import { fail, type GatewayError, toGatewayError } from '../lib/errors.ts';
import { GatewayHeaders } from '../lib/gateway-headers.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runWhole } from './pipeline/run.ts';

/** Headers of the gateway that would lead the call elsewhere, or write to it. */
const KEPT: readonly string[] = ['x-request-id', 'traceparent'];

/** The methods of TestsService. */
export function testsService(
  pipeline: Pipeline,
  providersOf: (principal: Principal) => readonly UsableProvider[],
) {
  return {
    async testProvider({ slug }: TestProviderRequest, call: Call): Promise<ProviderTest> {
      const principal = principalOf(call);
      const name = slug.replace(/^@/, '');
      if (!providersOf(principal).some((one) => one.slug === name))
        throw fail('not_found', `there is no stored provider ${name}`);
      const inner = callTo(call, `@${name}`);
      const begun = performance.now();
      const told = { object: 'provider-test', latencyMs: 0 };
      try {
        const { data } = await runWhole(
          pipeline,
          inner,
          'models',
          create(ListModelsRequestSchema),
          undefined,
        );
        const latencyMs = Math.round(performance.now() - begun);
        return create(ProviderTestSchema, {
          ...told,
          success: true,
          status: 200,
          latencyMs,
          models: data.length,
        });
      } catch (thrown) {
        const error = toGatewayError(thrown);
        if (error.reason === 'client_closed' || error.reason === 'internal') throw error;
        const latencyMs = Math.round(performance.now() - begun);
        return create(ProviderTestSchema, { ...told, ...faultOf(error), latencyMs });
      }
    },

    async testGuardrail(request: TestGuardrailRequest, call: Call): Promise<GuardrailTest> {
      const { organisationId, workspaceId } = principalOf(call);
      const event = request.event === 'output' ? 'output' : 'input';
      const hook = pipeline.savedGuardrails?.one({ organisationId, workspaceId }, request.guardrailId, event);
      if (hook === undefined) throw fail('not_found', `there is no guardrail ${request.guardrailId}`);
      // A call does not wait for an asynchronous one; here its verdict is what is asked for.
      const hooks = [{ ...hook, async: false }];
      const run = await pipeline.checks.runner.run(hooks, trafficOf(request, event, call), call.signal);
      const [result] = run.results;
      const checks = result !== undefined && 'checks' in result ? result.checks : [];
      const after = textOf(event === 'input' ? run.request : run.response);
      return create(GuardrailTestSchema, {
        object: 'guardrail-test',
        decision: run.decision,
        verdict: checks.every(({ verdict }) => verdict),
        ...(after === undefined || after === request.text ? {} : { text: after }),
        checks: checks.map((check: CheckResult) => ({ ...check }) as unknown as JsonObject),
      });
    },
  };
}

function principalOf({ principal }: Call): Principal {
  if (principal === undefined) throw fail('unauthenticated', 'an API key is needed');
  return principal;
}

/** A call of the same caller that selects the provider and nothing else. It ends with the outer one. */
function callTo(outer: Call, provider: string): Call {
  const { names, raw } = outer.headers;
  const kept = Object.entries(raw).filter(([name]) => KEPT.includes(name));
  const headers = new GatewayHeaders(names, {
    ...Object.fromEntries(kept),
    [`${names.canonical}provider`]: provider,
  });
  const call = new Call(ModelsService.method.listModels, { ...outer.source, headers });
  call.identity = outer.identity;
  call.principal = outer.principal;
  call.presentedKey = outer.presentedKey;
  outer.signal.addEventListener('abort', () => call.abort(outer.signal.reason as Error));
  return call;
}

function faultOf(error: GatewayError): { success?: boolean; status?: number; message: string } {
  const { status } = error.details;
  if (error.reason === 'operation_unsupported')
    return { message: 'this provider has no list of models: try it in the playground' };
  return {
    success: false,
    ...(status === undefined ? {} : { status }),
    message: error.message.slice(0, 1000),
  };
}

function trafficOf(
  { text, model, metadata }: TestGuardrailRequest,
  event: 'input' | 'output',
  call: Call,
): Traffic {
  const asked = event === 'input' ? text : '';
  const answer = { choices: [{ index: 0, message: { role: 'assistant', content: text } }] };
  return {
    requestType: 'chatComplete',
    api: 'chat',
    model,
    provider: undefined,
    metadata,
    headers: {},
    streaming: false,
    traceId: call.traceId,
    requestId: call.id,
    organisationId: call.principal?.organisationId ?? '',
    workspaceId: call.principal?.workspaceId,
    budget: new CallBudget(),
    request: requestBody('chat', {
      ...(model === undefined ? {} : { model }),
      messages: [{ role: 'user', content: asked }],
    }),
    response: event === 'output' ? { ...responseBody('chat', answer), status: 200 } : undefined,
  };
}

/** The text where `trafficOf` put it. */
function textOf(json: unknown): string | undefined {
  const { messages, choices } = (json ?? {}) as {
    readonly messages?: readonly { readonly content?: unknown }[];
    readonly choices?: readonly { readonly message?: { readonly content?: unknown } }[];
  };
  const content = choices?.[0]?.message?.content ?? messages?.[0]?.content;
  return typeof content === 'string' ? content : undefined;
}
