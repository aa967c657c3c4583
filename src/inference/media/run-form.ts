// A form with files through the stages: plan, guardrails, the plan's attempts. The provider reads while the client still
// sends; a form that turns out to be wrong is cut, and the provider keeps nothing.
import type { Message } from '@bufbuild/protobuf';
import type { BinaryAnswer } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { Call } from '../../call/call.ts';
import type { Guardrails } from '../../checks/hook.ts';
import type { AbortLike } from '../../lib/abort.ts';
import type { OutboundRequest } from '../../lib/egress/outbound.ts';
import { fail, GatewayError, invalidField } from '../../lib/errors.ts';
import { timeOrderedId } from '../../lib/time-ordered-id.ts';
import type { Operation } from '../../providers/dialect.ts';
import { type AnswerOf, operationRow, type RequestOf } from '../../providers/operations.ts';
import { codec } from '../../rest/codec.ts';
import { type FormBody, type FormMembers, filesBody } from '../files/form-body.ts';
import type { UploadMessage } from '../files/form-reader.ts';
import type { Attempt } from '../pipeline/attempt.ts';
import { checkModel } from '../pipeline/model-access.ts';
import { modelFor, operationOf } from '../pipeline/operation-of.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { readBounded } from '../pipeline/read-bounded.ts';
import { rewritten } from '../pipeline/rewrite.ts';
import { run } from '../pipeline/run.ts';
import { type Opening, runAttempt } from '../pipeline/run-attempt.ts';
import { traced } from '../pipeline/traced.ts';
import { translationOf } from '../pipeline/translation.ts';
import { outboundRequest, upstreamError } from '../pipeline/upstream.ts';
import { written } from '../pipeline/write-request.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { planOf } from '../plan/select.ts';
import { answerOf, type FormAnswer, type Kept } from './form-answer.ts';
import type { FormName } from './form-name.ts';
import { type FileRules, MediaForm } from './form-parts.ts';
import { MAX_REPLAYED, Replay } from './replay.ts';

type Head = { readonly model?: string; readonly prompt?: string } & Message;

/** Longest error that is read, in bytes. */
const MAX_ERROR = 1024 * 1024;

/** How a form is run. */
export interface FormRun {
  readonly files: FileRules;
  /** Whether the answer is wanted as a message, whatever form the provider gives it. */
  readonly typed: boolean;
}

/** Runs one form. @throws GatewayError the form's own fault, a guardrail's denial, or the provider's refusal */
export async function runForm<N extends FormName>(
  pipeline: Pipeline,
  call: Call,
  name: N,
  messages: AsyncIterable<UploadMessage<RequestOf<N>>>,
  { files, typed }: FormRun,
): Promise<FormAnswer<AnswerOf<N>>> {
  const form = await MediaForm.open(messages, files, call.signal);
  let streams = false;
  try {
    const sent = await planned(pipeline, call, name, form);
    const head = form.head as Head;
    let kept: Kept | undefined;
    let failed: unknown;
    const answer = await run(pipeline, call, head.model, {
      name,
      request: head,
      streams: false,
      async attempt(bound: BoundTarget, request: Head, signal: AbortLike): Promise<object> {
        if (form.error !== undefined) throw form.error;
        // What was sent on is not here any more.
        if (!sent.whole) throw failed;
        try {
          const made = await attemptForm(pipeline, call, { name, bound, form, request, sent, signal, typed });
          if (made.kept === undefined) return made.events;
          kept = made.kept;
          return kept.message;
        } catch (thrown) {
          failed = thrown;
          throw thrown;
        }
      },
    });
    if (Symbol.asyncIterator in answer) {
      streams = true;
      const events = answer as AsyncIterable<BinaryAnswer>;
      return { message: undefined, kept: undefined, events: leaving(events, form) };
    }
    return { message: answer as AnswerOf<N>, kept: kept!, events: undefined };
  } finally {
    if (!streams) form.leave();
  }
}

/**
 * Its parts, once it is known who answers. Clients that send the file first (curl, and openai's for Node where the file is
 * named first) may name the provider in the model after it: then the form is held until that is read, and goes on as if the
 * model had come first.
 * @throws GatewayError provider_missing, and what planning and the form throw
 */
async function planned<N extends FormName>(
  pipeline: Pipeline,
  call: Call,
  name: N,
  form: MediaForm<RequestOf<N>>,
): Promise<Replay> {
  const head = form.head as Head;
  try {
    const { plan } = await planOf(call, pipeline.planner, head.model);
    return new Replay(form.parts(), plan.maxAttempts > 1);
  } catch (thrown) {
    const isLate = thrown instanceof GatewayError && thrown.reason === 'provider_missing';
    if (!isLate || head.model !== undefined) throw thrown;
    const sent = new Replay(form.parts(), true);
    if (!(await sent.all()))
      throw fail(
        'provider_missing',
        `${thrown.message}. A model that names the provider must stand before a file of more than ${MAX_REPLAYED / 1_048_576} MiB`,
        { param: 'model' },
      );
    const tail = form.tail as Head | undefined;
    if (tail?.model === undefined) throw thrown;
    checkOnce(name, head, tail);
    form.joinTail(joined(name, head, tail) as unknown as RequestOf<N>);
    await planOf(call, pipeline.planner, tail.model);
    return sent;
  }
}

interface Try<N extends FormName> {
  readonly name: N;
  readonly bound: BoundTarget;
  readonly form: MediaForm<RequestOf<N>>;
  readonly request: Head;
  readonly sent: Replay;
  readonly signal: AbortLike;
  readonly typed: boolean;
}

async function attemptForm<N extends FormName>(pipeline: Pipeline, call: Call, asked: Try<N>) {
  const { name, bound, form, sent, signal, typed } = asked;
  const { target } = bound;
  const request = rewritten(name, asked.request, bound) as Head;
  const context = translationOf(call, target, pipeline.now, name);
  const { dialect, operation } = operationOf(pipeline, target, name);
  const own = operation as unknown as Operation<Message, Message>;
  const write = await written(own.request(request, context));
  // Nothing is sent before the file is here.
  await sent.first();
  const early = request.model ?? bound.model;
  if (early !== undefined) checkModel(bound, name, modelFor(target, name, early));
  let attempt: Attempt | undefined;
  let fault: GatewayError | undefined;
  const body = sent.isEmpty
    ? jsonBody(name, request)
    : filesBody({
        before: membersOf(name, request),
        parts: sent.parts(),
        after() {
          try {
            const tail = tailOf(name, form as unknown as MediaForm<Head>, request, bound);
            if (tail !== undefined) own.request(joined(name, request, tail), context);
            const model = modelFor(target, name, early ?? tail?.model);
            if (early === undefined) {
              checkModel(bound, name, model);
              attempt?.names(model);
            }
            checkGiven(name, request, tail);
            return tail === undefined ? {} : membersOf(name, tail);
          } catch (thrown) {
            fault = thrown as GatewayError;
            throw thrown;
          }
        },
      });
  const id = timeOrderedId();
  const headers = [...write.headers, 'content-type', body.contentType];
  const located = outboundRequest(bound, dialect, name, { ...write, headers }, signal, id);
  const outbound = traced(call, { ...located, body: body.pieces }, id);
  const opening = openingOf(asked, id, outbound, request, early ?? '');
  const guarded = ((bound.plan.guardrails as Guardrails | undefined)?.output.length ?? 0) > 0;
  const ownFault = (): GatewayError | undefined => fault ?? form.error;
  const dial = (out: OutboundRequest) =>
    pipeline.dialer.stream(out).catch((thrown: unknown) => {
      throw ownFault() ?? thrown;
    });
  return runAttempt(pipeline, call, opening, dial, async (answer, made) => {
    attempt = made;
    if (answer.status < 200 || answer.status > 299) {
      const error = await readBounded(answer.body, MAX_ERROR);
      throw ownFault() ?? upstreamError(target, dialect, answer, error);
    }
    const tailed = form.tail as Head | undefined;
    if (early === undefined && tailed?.model !== undefined) made.names(tailed.model);
    const whole = (): Head => joined(name, request, tailed);
    const read = (bytes: Uint8Array) => own.response(bytes, whole(), context);
    const how = { request: whole, read, provider: target.provider.id, whole: typed || guarded };
    return answerOf(answer, made, name, how);
  });
}

function openingOf<N extends FormName>(
  { bound, name }: Try<N>,
  id: string,
  outbound: OutboundRequest,
  request: Head,
  model: string,
): Opening {
  return {
    id,
    bound,
    outbound,
    model,
    body: 0,
    request,
    makesTokens: false,
    limited: true,
    estimated: false,
    tells: true,
    streams: false,
    aside: false,
    written: false,
    name,
  };
}

/**
 * What stands after the files, judged: what the config sets stays as it is set.
 * @throws GatewayError validation_failed naming the member
 */
function tailOf(
  name: FormName,
  { head, tail }: MediaForm<Head>,
  sent: Head,
  bound: BoundTarget,
): Head | undefined {
  if (tail === undefined) return undefined;
  checkOnce(name, head, tail);
  const after = membersOf(name, tail);
  if (tail.model?.startsWith('@'))
    throw invalidField('model', 'must stand before the file where it names a stored provider');
  const guarded = ((bound.plan.guardrails as Guardrails | undefined)?.input.length ?? 0) > 0;
  const hidden = guarded ? Object.keys(after).find((member) => member === 'prompt') : undefined;
  if (hidden !== undefined)
    throw invalidField(hidden, 'must stand before the file: guardrails look at it before it is sent');
  const set = membersOf(name, sent);
  const left = Object.fromEntries(Object.entries(after).filter(([member]) => !Object.hasOwn(set, member)));
  return codec.decodeRequest(operationRow(name).request, left) as Head;
}

/** @throws GatewayError validation_failed for a member before the files and after them */
function checkOnce(name: FormName, head: Head, tail: Head): void {
  const [before, after] = [membersOf(name, head), membersOf(name, tail)];
  const twice = Object.keys(after).find((member) => Object.hasOwn(before, member));
  if (twice !== undefined) throw invalidField(twice, 'must be given once');
}

function membersOf(name: FormName, message: Message): FormMembers {
  return codec.encode(operationRow(name).request, message) as FormMembers;
}

/** Members that must be given, before the files or after them. */
const REQUIRED: Partial<Readonly<Record<FormName, string>>> = { imageEdits: 'prompt', createVideo: 'prompt' };

/** @throws GatewayError validation_failed naming the member */
function checkGiven(name: FormName, head: Head, tail: Head | undefined): void {
  const member = REQUIRED[name];
  if (member === undefined || Object.hasOwn(joinedMembers(name, head, tail), member)) return;
  throw invalidField(member, 'is required', 'required');
}

/** The request with what stood after its files. */
function joined(name: FormName, head: Head, tail: Head | undefined): Head {
  if (tail === undefined) return head;
  return codec.decodeRequest(operationRow(name).request, joinedMembers(name, head, tail)) as Head;
}

function joinedMembers(name: FormName, head: Head, tail: Head | undefined): FormMembers {
  return { ...(tail && membersOf(name, tail)), ...membersOf(name, head) };
}

/** A request without files goes as JSON. */
function jsonBody(name: FormName, request: Head): FormBody {
  checkGiven(name, request, undefined);
  const text = Buffer.from(JSON.stringify(membersOf(name, request)));
  return { contentType: 'application/json', pieces: onePiece(text) };
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* leaving(
  events: AsyncIterable<BinaryAnswer>,
  form: { leave(): void },
): AsyncGenerator<BinaryAnswer> {
  try {
    yield* events;
  } finally {
    form.leave();
  }
}
