// Guardrails around a request that is passed through, by the view of its form.
import type { DescMessage } from '@bufbuild/protobuf';
import type { Call } from '../../call/call.ts';
import type { Guardrails } from '../../checks/hook.ts';
import { denied, hookResults } from '../../checks/runner/answer.ts';
import type { HookRun } from '../../checks/runner/hook-result.ts';
import { CallBudget } from '../../checks/sandbox/call-budget.ts';
import { mustHoldAnswer } from '../../checks/stream/stream-guard.ts';
import { requestBody, responseBody } from '../../checks/view/body-of.ts';
import type { JsonObject as Json, Traffic } from '../../checks/view/traffic.ts';
import type { AbortLike } from '../../lib/abort.ts';
import type { GatewayError } from '../../lib/errors.ts';
import { plain } from '../pipeline/explain.ts';
import { type GuardedStream, guardedStream } from '../pipeline/guarded-stream.ts';
import { laterHooks } from '../pipeline/later-hooks.ts';
import { errorWithMembers } from '../pipeline/members.ts';
import { noteHooks } from '../pipeline/note-hooks.ts';
import type { PieceForm } from '../pipeline/pieces/piece-form.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { RawForm } from './forms.ts';
import { type StreamForm, streamFormOf } from './stream-forms.ts';

/** The guardrails of one request at one target. */
export class RawGuards {
  readonly #pipeline: Pick<Pipeline, 'checks' | 'keepsLate'>;
  readonly #call: Call;
  readonly #form: RawForm;
  readonly #hooks: Guardrails;
  #traffic: Traffic;
  #input: HookRun | undefined;

  constructor(
    pipeline: Pick<Pipeline, 'checks' | 'keepsLate'>,
    call: Call,
    form: RawForm,
    bound: BoundTarget,
    json: Json | undefined,
    model: string | undefined,
  ) {
    this.#pipeline = pipeline;
    this.#call = call;
    this.#form = form;
    this.#hooks = bound.plan.guardrails as Guardrails;
    this.#traffic = trafficOf(call, form, bound, json ?? {}, model);
  }

  /** The request's JSON after its guardrails; the same object where they write nothing. @throws GatewayError guardrail_denied (446) */
  async input(json: Json, signal: AbortLike): Promise<Json> {
    const { input } = this.#hooks;
    if (input.length === 0) return json;
    const later = laterHooks(this.#call, 'before', this.#pipeline.keepsLate);
    const run = await this.#pipeline.checks.runner.run(input, this.#traffic, signal, later);
    noteHooks(this.#call, run, 'before');
    this.#input = run;
    if (run.decision === 'deny') throw this.#denied(undefined);
    const changed = run.request !== undefined && run.request !== json;
    const written = changed ? (run.request as Json) : json;
    this.#traffic = {
      ...this.#traffic,
      headers: { ...this.#traffic.headers, ...run.headers },
      ...(changed ? { requestTransformed: true, request: requestBody(this.#form.view, written) } : {}),
    };
    return written;
  }

  /** The answer's JSON after its guardrails. @throws GatewayError guardrail_denied (446) */
  async output(json: Json, status: number, signal: AbortLike): Promise<Json> {
    const response = { ...responseBody(this.#form.view, json), status };
    const later = laterHooks(this.#call, 'after', this.#pipeline.keepsLate);
    const { runner } = this.#pipeline.checks;
    const run = await runner.run(this.#hooks.output, { ...this.#traffic, response }, signal, later);
    noteHooks(this.#call, run, 'after');
    if (run.decision === 'deny') throw this.#denied(run);
    return run.response !== undefined && run.response !== json ? (run.response as Json) : json;
  }

  get requestId(): string {
    return this.#call.id;
  }

  /** How the form's streams are read; undefined: they are not, for the reason that `whyNoStream` says. */
  get streamForm(): StreamForm | undefined {
    return mustHoldAnswer(this.#hooks.output) ? undefined : streamFormOf(this.#form.view);
  }

  get whyNoStream(): string {
    const writes = mustHoldAnswer(this.#hooks.output);
    return writes ? 'it is a stream, which the guardrail may have to change' : 'it is a stream';
  }

  /** Output guardrails over the events of a stream. @param chunk of an event @throws GatewayError guardrail_denied (446) */
  async stream(
    events: AsyncIterable<object>,
    chunk: DescMessage,
    form: PieceForm,
    signal: AbortLike,
  ): Promise<GuardedStream> {
    const guarded = await guardedStream(events, {
      ...this.#pipeline.checks,
      hooks: this.#hooks.output,
      traffic: this.#traffic,
      signal,
      later: laterHooks(this.#call, 'after', this.#pipeline.keepsLate),
      chunk,
      form,
      denied: (run) => this.#denied(run),
    });
    const note = (): void => noteHooks(this.#call, guarded.outcome(), 'after');
    this.#call.streamHooks = note;
    return guarded;
  }

  #denied(output: HookRun | undefined): GatewayError {
    return errorWithMembers(denied(), plain({ hook_results: hookResults(this.#input, output) }));
  }
}

function trafficOf(
  call: Call,
  { view: api, requestType }: RawForm,
  { target }: BoundTarget,
  json: Json,
  model: string | undefined,
): Traffic {
  const { headers, principal, record, traceId, id: requestId } = call;
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers.raw))
    if (value !== undefined) flat[name] = typeof value === 'string' ? value : value.join(', ');
  return {
    requestType,
    api,
    model,
    provider: target.provider.id,
    metadata: record.metadata,
    headers: flat,
    streaming: json.stream === true,
    traceId,
    requestId,
    organisationId: principal?.organisationId ?? '',
    workspaceId: principal?.workspaceId,
    budget: new CallBudget(),
    request: requestBody(api, json),
    response: undefined,
  };
}
