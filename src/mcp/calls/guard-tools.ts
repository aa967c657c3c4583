// Guardrails of tool calls: those that every call of the workspace passes, and those that the integration and the
// server bind to all of their tools or to one.
import type { Call } from '../../call/call.ts';
import type { SpanRecord } from '../../call/record.ts';
import { parseSavedGuardrail } from '../../checks/guardrails.ts';
import type { Hook, PathFault } from '../../checks/hook.ts';
import { denied, hookResults } from '../../checks/runner/answer.ts';
import type { GuardrailRunner } from '../../checks/runner/guardrail-runner.ts';
import type { HookRun } from '../../checks/runner/hook-result.ts';
import { CallBudget } from '../../checks/sandbox/call-budget.ts';
import { toolArguments, toolResult } from '../../checks/view/tools.ts';
import type { Event, JsonObject, Traffic } from '../../checks/view/traffic.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import type { RpcResponse } from '../wire/json-rpc.ts';
import type { ToolCallContext } from './call-context.ts';
import { entryNameOf, MCP_PROVIDER } from './tool-attempt.ts';
import type { ToolGuards } from './tool-guards.ts';

/** Whose guardrails. */
interface Tenant {
  readonly organisationId: string;
  readonly workspaceId: string | undefined;
}

export interface ToolGuardDeps {
  readonly runner: Pick<GuardrailRunner, 'run'>;
  /** A guardrail that a tenant may name; `json` is the same object until it changes. */
  readonly find: (
    tenant: Tenant,
    idOrSlug: string,
  ) => { readonly id: string; readonly json: object } | undefined;
  /** What every call of a workspace passes. */
  readonly defaultsOf: (tenant: Tenant) => Readonly<Record<Event, readonly string[]>> | undefined;
}

/** Undefined for a call that passes none. */
export function toolGuards(deps: ToolGuardDeps) {
  const hooks = new WeakMap<object, Map<string, Hook>>();
  return (call: Call, { server, request }: ToolCallContext, tool: string): ToolGuards | undefined => {
    const tenant = { organisationId: server.organisationId, workspaceId: server.workspaceId };
    const defaults = deps.defaultsOf(tenant);
    const own = server.guardrailsOf(tool);
    const named = (event: Event): Hook[] =>
      [...new Set([...(defaults?.[event] ?? []), ...own[event]])].map((id) =>
        hookOf(deps, hooks, tenant, id, event),
      );
    const [input, output] = [named('input'), named('output')];
    if (input.length + output.length === 0) return undefined;
    const args = (request.params?.arguments ?? {}) as JsonObject;
    return new Guards(deps.runner, call, entryNameOf(server.slug, tool), tool, args, { input, output });
  };
}

function hookOf(
  { find }: ToolGuardDeps,
  known: WeakMap<object, Map<string, Hook>>,
  tenant: Tenant,
  name: string,
  event: Event,
): Hook {
  const found = find(tenant, name);
  // A guardrail that is gone lets nothing pass: it was bound to be passed.
  if (found === undefined) throw fail('config_invalid', `there is no saved guardrail ${name}`);
  const own = known.get(found.json) ?? new Map<string, Hook>();
  known.set(found.json, own);
  const faults: PathFault[] = [];
  const hook = own.get(event) ?? parseSavedGuardrail(found.json, found.id, event, '', faults, true);
  if (hook === undefined)
    throw fail('config_invalid', `the saved guardrail ${name}: ${faults[0]?.message ?? 'cannot run here'}`);
  own.set(event, hook);
  return hook;
}

class Guards implements ToolGuards {
  readonly #runner: ToolGuardDeps['runner'];
  readonly #call: Call;
  readonly #tool: string;
  readonly #hooks: Readonly<Record<Event, readonly Hook[]>>;
  #traffic: Traffic;
  #input: HookRun | undefined;

  constructor(
    runner: ToolGuardDeps['runner'],
    call: Call,
    model: string,
    tool: string,
    args: JsonObject,
    hooks: Readonly<Record<Event, readonly Hook[]>>,
  ) {
    this.#runner = runner;
    this.#call = call;
    this.#tool = tool;
    this.#hooks = hooks;
    this.#traffic = trafficOf(call, model, tool, args);
  }

  get checksOutput(): boolean {
    return this.#hooks.output.length > 0;
  }

  async input(args: JsonObject | undefined, signal: AbortLike): Promise<JsonObject | undefined> {
    if (this.#hooks.input.length === 0) return args;
    const run = await this.#runner.run(this.#hooks.input, this.#traffic, signal);
    noteRun(this.#call, run, 'before');
    this.#input = run;
    if (run.decision === 'deny') throw this.#denied(undefined);
    const { json } = this.#traffic.request;
    if (run.request === undefined || run.request === json) return args;
    const written = (run.request as { readonly arguments?: JsonObject }).arguments ?? {};
    this.#traffic = {
      ...this.#traffic,
      requestTransformed: true,
      request: toolArguments(this.#tool, written),
    };
    return written;
  }

  async output(response: RpcResponse, text: string, signal: AbortLike): Promise<string> {
    const { result, error } = response;
    const said = result ?? (error as JsonObject | undefined);
    if (this.#hooks.output.length === 0 || said === undefined) return text;
    const body = { ...toolResult(said), status: 200 };
    const run = await this.#runner.run(this.#hooks.output, { ...this.#traffic, response: body }, signal);
    noteRun(this.#call, run, 'after');
    if (run.decision === 'deny') throw this.#denied(run);
    const isWritten = run.response !== undefined && run.response !== body.json;
    if (!isWritten) return text;
    const member = result === undefined ? 'error' : 'result';
    return JSON.stringify({ ...response, [member]: run.response });
  }

  #denied(output: HookRun | undefined): GatewayError {
    const { reason, message, details } = denied();
    const members = { hook_results: hookResults(this.#input, output) };
    return new GatewayError(reason, message, { ...details, members });
  }
}

function trafficOf(call: Call, model: string, tool: string, args: JsonObject): Traffic {
  const { headers, principal, record, traceId, id: requestId } = call;
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers.raw))
    if (value !== undefined) flat[name] = typeof value === 'string' ? value : value.join(', ');
  return {
    requestType: 'mcpToolCall',
    api: 'tools',
    model,
    provider: MCP_PROVIDER,
    metadata: record.metadata,
    headers: flat,
    streaming: false,
    traceId,
    requestId,
    organisationId: principal?.organisationId ?? '',
    workspaceId: principal?.workspaceId,
    budget: new CallBudget(),
    request: toolArguments(tool, args),
    response: undefined,
  };
}

function noteRun({ record, bodies }: Call, run: HookRun, side: 'before' | 'after'): void {
  record.spans ??= [];
  for (const result of run.results) {
    if ('skipped' in result) continue;
    const span: SpanRecord = {
      kind: 'guardrail',
      name: result.id,
      startedAt: Date.parse(result.created_at),
      latencyMs: result.execution_time,
      verdict: result.verdict ? 'passed' : 'failed',
    };
    record.spans.push(span);
  }
  if (bodies === undefined) return;
  bodies.hooks ??= { before: [], after: [] };
  bodies.hooks[side].push(...run.results);
}
