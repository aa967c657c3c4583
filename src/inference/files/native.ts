// Files of a provider: bytes to it and from it as they come.
import { create } from '@bufbuild/protobuf';
import { type BinaryAnswer, BinaryAnswerSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { Call } from '../../call/call.ts';
import type { OutboundRequest, StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { timeOrderedId } from '../../lib/time-ordered-id.ts';
import { Turns } from '../../lib/turns.ts';
import { bytesPassed } from '../../lib/young-garbage.ts';
import type { Operation } from '../../providers/dialect.ts';
import type { AnswerOf, RequestOf } from '../../providers/operations.ts';
import { operationOf } from '../pipeline/operation-of.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { readBounded } from '../pipeline/read-bounded.ts';
import { type Opening, runAttempt } from '../pipeline/run-attempt.ts';
import { traced } from '../pipeline/traced.ts';
import { translationOf } from '../pipeline/translation.ts';
import { outboundRequest, upstreamError } from '../pipeline/upstream.ts';
import { isEncoded } from '../pipeline/whole.ts';
import { written } from '../pipeline/write-request.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { FormBody } from './form-body.ts';

/** Longest answer to an upload, in bytes. */
const MAX_ANSWER = 1024 * 1024;

type Sent = 'uploadFile' | 'addUploadPart' | 'createContainerFile';
type Content = 'fileContent' | 'containerFileContent' | 'videoContent';

/** A form on its way. */
export interface Sending {
  readonly form: FormBody;
  /** What went wrong while the form was written: the caller's fault, not the provider's. */
  readonly fault: () => GatewayError | undefined;
  /** Made for the gateway, not for the answer. */
  readonly aside?: boolean;
}

/**
 * Sends a form. The provider reads while it is written; a form that breaks off is cut, and the provider keeps nothing.
 * @throws GatewayError the form's own fault, or the provider's refusal
 */
export async function sendForm<N extends Sent>(
  pipeline: Pipeline,
  call: Call,
  bound: BoundTarget,
  name: N,
  request: RequestOf<N>,
  { form, fault, aside = false }: Sending,
): Promise<AnswerOf<N>> {
  const opening = await openingOf(pipeline, call, bound, name, request, aside, form);
  const { dialect, operation } = operationOf(pipeline, bound.target, name);
  const context = translationOf(call, bound.target, pipeline.now, name);
  const { response } = operation as Operation<RequestOf<N>, AnswerOf<N>>;
  const dial = (outbound: OutboundRequest): Promise<StreamedAnswer> =>
    pipeline.dialer.stream(outbound).catch((thrown: unknown) => {
      throw fault() ?? thrown;
    });
  return runAttempt(pipeline, call, opening, dial, async (answer, attempt) => {
    const body = await readBounded(answer.body, MAX_ANSWER);
    const own = fault();
    if (own !== undefined) throw own;
    if (answer.status < 200 || answer.status > 299) throw upstreamError(bound.target, dialect, answer, body);
    const { answer: message } = response(body, request, context);
    attempt.end({ status: answer.status, outcome: 'success' });
    return message;
  });
}

/** The bytes of a provider's file, once its head is here. @throws GatewayError the provider's refusal */
export async function contentOf<N extends Content>(
  pipeline: Pipeline,
  call: Call,
  bound: BoundTarget,
  name: N,
  request: RequestOf<N>,
): Promise<AsyncIterable<BinaryAnswer>> {
  const opening = await openingOf(pipeline, call, bound, name, request, false);
  const { dialect } = operationOf(pipeline, bound.target, name);
  const dial = (outbound: OutboundRequest) => pipeline.dialer.stream(outbound);
  return runAttempt(pipeline, call, opening, dial, async (answer, attempt) => {
    if (answer.status < 200 || answer.status > 299)
      throw upstreamError(bound.target, dialect, answer, await readBounded(answer.body, MAX_ANSWER));
    if (isEncoded(answer.header('content-encoding')))
      throw fail('upstream_garbage', 'the provider answered in an encoding that was not asked for', {
        provider: bound.target.provider.id,
      });
    return (async function* () {
      let whole = false;
      const turns = new Turns();
      try {
        yield headOf(answer);
        for await (const value of answer.body) {
          bytesPassed(value.length);
          const pause = turns.step(value.length);
          if (pause !== undefined) await pause;
          yield create(BinaryAnswerSchema, {
            kind: { case: 'chunk', value: value as Uint8Array<ArrayBuffer> },
          });
        }
        whole = true;
        attempt.end({ status: answer.status, outcome: 'success' });
      } catch (thrown) {
        throw attempt.fail(thrown);
      } finally {
        if (!whole) attempt.fail(fail('client_closed', 'the client has left'));
      }
    })();
  });
}

function headOf(answer: StreamedAnswer): BinaryAnswer {
  const header = (name: string): string | undefined => answer.header(name);
  const length = header('content-length');
  const filename = /filename="([^"\\]{1,1024})"/.exec(header('content-disposition') ?? '')?.[1];
  const encoded = header('content-encoding') ?? 'identity';
  const contentType = header('content-type') ?? 'application/octet-stream';
  const known = length !== undefined && /^\d{1,15}$/.test(length) && encoded === 'identity';
  return create(BinaryAnswerSchema, {
    kind: {
      case: 'head',
      value: {
        contentType,
        ...(known ? { length: BigInt(length) } : {}),
        ...(filename === undefined ? {} : { filename }),
      },
    },
  });
}

async function openingOf<N extends Sent | Content>(
  pipeline: Pipeline,
  call: Call,
  bound: BoundTarget,
  name: N,
  request: RequestOf<N>,
  aside: boolean,
  form?: FormBody,
): Promise<Opening> {
  const { dialect, operation } = operationOf(pipeline, bound.target, name);
  const context = translationOf(call, bound.target, pipeline.now, name);
  const write = await written((operation as Operation<RequestOf<N>, unknown>).request(request, context));
  const headers = form === undefined ? write.headers : [...write.headers, 'content-type', form.contentType];
  const id = timeOrderedId();
  const located = outboundRequest(bound, dialect, name, { ...write, headers }, call.signal, id);
  const outbound = traced(call, form === undefined ? located : { ...located, body: form.pieces }, id);
  if (!aside) call.record.provider = bound.target.provider.id;
  return {
    id,
    bound,
    outbound,
    model: '',
    body: 0,
    request: {},
    makesTokens: false,
    limited: form !== undefined,
    estimated: false,
    tells: !aside,
    streams: false,
    aside,
    written: false,
    name,
  };
}
