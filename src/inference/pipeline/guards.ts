// Guardrails around a call: those of the request once for all attempts, those of the answer after each of them.

import type { Call } from '../../call/call.ts';
import type { Checks } from '../../checks/create.ts';
import type { Guardrails, Hook } from '../../checks/hook.ts';
import { denied, hookResults, softDenial, statusAfter } from '../../checks/runner/answer.ts';
import type { HookRun } from '../../checks/runner/hook-result.ts';
import { CallBudget } from '../../checks/sandbox/call-budget.ts';
import { mustHoldAnswer } from '../../checks/stream/stream-guard.ts';
import { requestBody, responseBody } from '../../checks/view/body-of.ts';
import { oddName } from '../../checks/view/odd-names.ts';
import type { JsonObject as Json, Traffic } from '../../checks/view/traffic.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { type GatewayError, invalidField } from '../../lib/errors.ts';
import { checkReadable } from '../../lib/heavy-message.ts';
import { attachRawJson, rawJsonOf, rawValueOf } from '../../lib/raw-json.ts';
import { nextTurn } from '../../lib/time-slices.ts';
import { type OperationName, operationRow } from '../../providers/operations.ts';
import { codec } from '../../rest/codec.ts';
import { LIGHT_BYTES } from '../../rest/json-weight.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { withClaims } from './claims.ts';
import { type Explanation, plain } from './explain.ts';
import { guardedStream } from './guarded-stream.ts';
import { type KeepsLate, laterHooks } from './later-hooks.ts';
import { errorWithMembers } from './members.ts';
import { noteHooks } from './note-hooks.ts';
import { pieceForm } from './pieces/piece-forms.ts';
import { jsonOf, requestOf } from './rewrite.ts';
import type { Served } from './served.ts';
import { SoftDenial } from './soft-denial.ts';
import { refuseUnseenText } from './unseen-text.ts';

/** What guardrails are run with. */
interface GuardDeps {
  readonly checks: Pick<Checks, 'runner' | 'deps'>;
  readonly keepsLate: KeepsLate | undefined;
}

/** The guardrails of one call. */
export class Guards<Request extends object> {
  readonly #checks: GuardDeps['checks'];
  readonly #keepsLate: KeepsLate | undefined;
  readonly #call: Call;
  readonly #name: OperationName;
  readonly #request: Request;
  readonly #streams: boolean;
  readonly #explanation: Explanation | undefined;
  /** Of all its checks, also over a stream. */
  readonly #budget = new CallBudget();
  /** Those of the request run once, whatever is tried again, and whichever targets they stand at. */
  readonly #inputs: { readonly hooks: readonly Hook[]; readonly input: Promise<Ran<Request>> }[] = [];

  constructor(
    { checks, keepsLate }: GuardDeps,
    call: Call,
    name: OperationName,
    request: Request,
    streams: boolean,
    explanation: Explanation | undefined,
  ) {
    this.#explanation = explanation;
    this.#checks = checks;
    this.#keepsLate = keepsLate;
    this.#call = call;
    this.#name = name;
    this.#request = request;
    this.#streams = streams;
  }

  /** The request as the target's input guardrails leave it. @throws GatewayError guardrail_denied (446), SoftDenial */
  async input(bound: BoundTarget, signal: AbortLike): Promise<Input<Request>> {
    const guardrails = bound.plan.guardrails as Guardrails | undefined;
    if (guardrails === undefined || guardrails.input.length === 0)
      return { request: this.#request, run: undefined, traffic: undefined, bound };
    refuseUnseenText(this.#name, guardrails, bound);
    const hooks = guardrails.input;
    let input = this.#inputs.find((one) => isSame(one.hooks, hooks))?.input;
    if (input === undefined) {
      input = this.#runInput(guardrails, bound, this.#call.signal);
      this.#inputs.push({ hooks, input });
    }
    const { run, ...rest } = await orAbort(input, signal);
    if (run?.decision === 'deny') throw this.#denied(bound, run, undefined);
    return { run, ...rest, bound: run ? withClaims(bound, run.headers, this.#call.headers) : bound };
  }

  /** Whether a stream's output guardrails can only run over a whole answer. */
  mustHold({ plan }: BoundTarget): boolean {
    return this.#streams && mustHoldAnswer((plan.guardrails as Guardrails | undefined)?.output ?? []);
  }

  /** The answer after the target's output guardrails. @throws GatewayError guardrail_denied (446), SoftDenial */
  async output<Answer extends object>(
    answer: Answer,
    bound: BoundTarget,
    { run: input, traffic, request }: Input<Request>,
    signal: AbortLike,
  ): Promise<Served<Answer>> {
    const hooks = (bound.plan.guardrails as Guardrails | undefined)?.output ?? [];
    const tells = !this.#streams || !bound.target.strict;
    const status = statusAfter(200, input);
    if (hooks.length === 0) return { answer, status, input, output: undefined, tells, keeps: always };
    const seen = traffic ?? this.#traffic(bound, jsonOf(this.#name, request) ?? {});
    if (Symbol.asyncIterator in answer) {
      const { events, outcome } = await guardedStream(answer as AsyncIterable<object>, {
        ...this.#checks,
        hooks,
        traffic: seen,
        signal,
        later: laterHooks(this.#call, 'after', this.#keepsLate),
        chunk: operationRow(this.#name).chunk!,
        form: pieceForm(this.#name),
        denied: (run) => this.#denied(bound, input, run),
      });
      const note = (): void => noteHooks(this.#call, outcome(), 'after');
      this.#call.streamHooks = note;
      const keeps = (): boolean => outcome()?.decision === 'pass';
      const stream = events as unknown as Answer;
      return { answer: stream, status, input, output: undefined, tells, keeps, closing: outcome };
    }
    return this.#outputWhole(answer, bound, { ...seen, response: undefined }, input, tells, signal);
  }

  async #outputWhole<Answer extends object>(
    answer: Answer,
    bound: BoundTarget,
    traffic: Traffic,
    input: HookRun | undefined,
    tells: boolean,
    signal: AbortLike,
  ): Promise<Served<Answer>> {
    const hooks = (bound.plan.guardrails as Guardrails).output;
    // A long answer is read, and written with what was found, in turns of its own.
    const isLong = (rawJsonOf(answer)?.length ?? 0) > LIGHT_BYTES;
    if (isLong) await nextTurn();
    const json = answerJson(this.#name, answer);
    const response = { ...responseBody(traffic.api, json), status: 200 };
    const later = laterHooks(this.#call, 'after', this.#keepsLate);
    const output = await this.#checks.runner.run(hooks, { ...traffic, response }, signal, later);
    noteHooks(this.#call, output, 'after');
    if (isLong) await nextTurn();
    if (output.decision === 'deny') throw this.#denied(bound, input, output);
    const written = output.response !== undefined && output.response !== json;
    return {
      answer: written ? answerOf<Answer>(this.#name, output.response) : answer,
      status: statusAfter(200, input, output),
      input,
      output,
      tells,
      keeps: () => output.decision === 'pass',
    };
  }

  async #runInput(guardrails: Guardrails, bound: BoundTarget, signal: AbortLike): Promise<Ran<Request>> {
    const json = jsonOf(this.#name, this.#request);
    if (json === undefined) return { request: this.#request, run: undefined, traffic: undefined };
    checkNames(guardrails, operationRow(this.#name).view, json);
    const before = this.#traffic(bound, json);
    const later = laterHooks(this.#call, 'before', this.#keepsLate);
    const run = await this.#checks.runner.run(guardrails.input, before, signal, later);
    noteHooks(this.#call, run, 'before');
    // Checks of the answer see the claims of a token too, and no header that only says to be one.
    const traffic = { ...before, headers: { ...before.headers, ...run.headers } };
    if (run.request === json) return { request: this.#request, run, traffic };
    return {
      request: requestOf<Request>(this.#name, run.request),
      run,
      traffic: { ...traffic, requestTransformed: true, request: requestBody(before.api, run.request) },
    };
  }

  #traffic({ target }: BoundTarget, json: Json): Traffic {
    const { view: api, requestType } = operationRow(this.#name);
    const { headers, principal, record, traceId, id: requestId } = this.#call;
    return {
      requestType,
      api,
      model: typeof json.model === 'string' ? json.model : undefined,
      provider: target.provider.id,
      metadata: record.metadata,
      headers: flat(headers.raw),
      streaming: this.#streams,
      traceId,
      requestId,
      organisationId: principal?.organisationId ?? '',
      workspaceId: principal?.workspaceId,
      budget: this.#budget,
      request: requestBody(api, json),
      response: undefined,
    };
  }

  #denied(bound: BoundTarget, input: HookRun | undefined, output: HookRun | undefined): GatewayError {
    const plainly = errorWithMembers(denied(), plain({ hook_results: hookResults(input, output) }));
    const error = this.#explanation?.denied(plainly, this.#call, input, output) ?? plainly;
    if (!(output ?? input)?.soft) return error;
    const { view: api } = operationRow(this.#name);
    const { model = '' } = this.#request as { readonly model?: string };
    const reply = softDenial(api, model, `denied-${this.#call.id}`, Date.now());
    if (reply === undefined) return error;
    const tells = !this.#streams || !bound.target.strict;
    return new SoftDenial(error, bound, {
      answer: answerOf<object>(this.#name, reply),
      status: 200,
      input,
      output,
      tells,
      keeps: never,
    });
  }
}

/** Members of other forms, in which some providers look for texts, too. */
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
  chat: ['prompt', 'input'],
  completions: ['messages', 'input'],
  responses: ['messages'],
  messages: ['prompt', 'input'],
};

/** A member that a mandatory guardrail would not see, and the provider might. @throws GatewayError validation_failed */
function checkNames({ input }: Guardrails, view: string, json: Json): void {
  const hook = input.find(({ mandatory }) => mandatory);
  if (hook === undefined) return;
  const foreign = FOREIGN[view]?.find((name) => json[name] !== undefined && json[name] !== null);
  const odd = foreign ?? oddName(json);
  if (odd === undefined) return;
  const why = foreign === undefined ? `: write ${odd.toLowerCase()}` : ', for it is one of another API';
  throw invalidField(odd, `is not seen by the guardrail ${hook.id}, which must see every request${why}`);
}

/** A request after its guardrails, for any target. */
type Ran<Request> = Omit<Input<Request>, 'bound'>;

/** A request after its guardrails. */
export interface Input<Request> {
  /** The target, with the claims that the guardrails found among the headers that go on to it. */
  readonly bound: BoundTarget;
  readonly request: Request;
  readonly run: HookRun | undefined;
  readonly traffic: Traffic | undefined;
}

const always = (): boolean => true;
const never = (): boolean => false;

/** Whether two lists are the same hooks in the same order. */
function isSame(one: readonly Hook[], other: readonly Hook[]): boolean {
  return one === other || (one.length === other.length && one.every((hook, i) => hook === other[i]));
}

function flat(raw: Readonly<Record<string, string | readonly string[] | undefined>>): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(raw)) {
    if (value !== undefined) headers[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return headers;
}

function answerJson(name: OperationName, answer: object): Json {
  checkReadable(answer);
  return (rawValueOf(answer) ?? codec.encode(operationRow(name).answer, answer as never)) as Json;
}

function answerOf<Answer extends object>(name: OperationName, json: Json): Answer {
  const message = codec.decode(operationRow(name).answer, json);
  return attachRawJson(message, JSON.stringify(json)) as unknown as Answer;
}

/** A promise that others wait for as well; given up when the signal says so. */
function orAbort<T>(promise: Promise<T>, signal: AbortLike): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => reject(signal.reason);
    // A rejection after the abort is handled here, so that it does not end the process.
    promise.catch(() => {});
    if (signal.aborted) return aborted();
    signal.addEventListener('abort', aborted);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  });
}
