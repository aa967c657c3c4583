// The one place where an attempt is opened: it is noted for the log, its target's limits are held, the in-flight
// journal has it, its provider is called, and it ends with whatever goes wrong.
import type { Call } from '../../call/call.ts';
import type { AbortLike } from '../../lib/abort.ts';
import type { OutboundBody, OutboundRequest } from '../../lib/egress/outbound.ts';
import { timeOrderedId } from '../../lib/time-ordered-id.ts';
import type { Dialect } from '../../providers/dialect.ts';
import { FailedAnswer } from '../../providers/failed-answer.ts';
import { type OperationName, operationRow } from '../../providers/operations.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { Attempt } from './attempt.ts';
import { assembledIn, noteSent, noteTarget } from './kept-bodies.ts';
import { checkFurtherModels, checkModel } from './model-access.ts';
import { checkLimits } from './model-limits.ts';
import { pieceForm } from './pieces/piece-forms.ts';
import type { Pipeline } from './pipeline.ts';
import { holdTarget, isLimited } from './target-limits.ts';
import { traced } from './traced.ts';
import { outboundRequest } from './upstream.ts';
import type { Written } from './write-request.ts';

const NOTHING_HEARD = Object.freeze({ usage: undefined, model: undefined });

/** An operation that a target is asked for. */
export interface Asked<Request> {
  readonly bound: BoundTarget;
  readonly dialect: Dialect;
  readonly name: OperationName;
  /** What the provider is asked for: another one where the operation is translated. */
  readonly wire: OperationName;
  readonly request: Request;
  readonly model: string;
  readonly signal: AbortLike;
  /** Made for the gateway, not for the answer: vectors of the semantic cache. */
  readonly aside?: true;
}

/** An attempt that is ready to be made. */
export interface Opening {
  readonly id: string;
  readonly bound: BoundTarget;
  readonly outbound: OutboundRequest;
  /** Empty where it is not known. */
  readonly model: string;
  /** What limits and the journal estimate from: its body, or how many bytes that has. */
  readonly body: OutboundBody | number;
  readonly request: object;
  readonly makesTokens: boolean;
  /** Whether it counts in its target's limits. */
  readonly limited: boolean;
  /** Whether a missing report of usage is estimated from the request and from what is said. */
  readonly estimated: boolean;
  /** Whether the answer's headers are the gateway's to write. */
  readonly tells: boolean;
  readonly streams: boolean;
  readonly aside: boolean;
  /** Whether the request is one of a dialect, so that the log keeps it as it was sent. */
  readonly written: boolean;
  /** Absent of what is passed through. */
  readonly name?: OperationName;
}

/**
 * An operation's attempt. @param write the request in the dialect's words
 * @throws GatewayError forbidden for a model that the integration does not allow, validation_failed, invalid_header
 */
export function operationAttempt<Request>(
  pipeline: Pipeline,
  call: Call,
  asked: Asked<Request>,
  streams: boolean,
  write: () => Written | Promise<Written>,
): Opening | Promise<Opening> {
  const { bound, name, request, model } = asked;
  checkModel(bound, name, model);
  checkLimits(pipeline.models, bound, name, model, request);
  const written = write();
  return written instanceof Promise
    ? written.then((one) => openingOf(call, asked, streams, one))
    : openingOf(call, asked, streams, written);
}

function openingOf<Request>(call: Call, asked: Asked<Request>, streams: boolean, written: Written): Opening {
  const { bound, dialect, name, wire, request, model, signal, aside = false } = asked;
  const id = timeOrderedId();
  checkFurtherModels(bound, written.body);
  const outbound = traced(call, outboundRequest(bound, dialect, wire, written, signal, id), id);
  const { makesTokens, counted, hasBody } = operationRow(name);
  return {
    id,
    bound,
    outbound,
    model,
    body: outbound.body,
    request: request as object,
    makesTokens,
    limited: hasBody,
    estimated: counted,
    tells: !aside,
    streams,
    aside,
    written: true,
    name,
  };
}

/**
 * Makes the attempt. It ends with what `dial` or `read` throws; else `read` ends it, or what it returns does later.
 * @param dial calls the provider @param read takes its answer
 * @throws GatewayError with the provider named
 */
export async function runAttempt<Head, Result>(
  pipeline: Pipeline,
  call: Call,
  opening: Opening,
  dial: (request: OutboundRequest) => Promise<Head>,
  read: (head: Head, attempt: Attempt) => Result | Promise<Result>,
): Promise<Result> {
  const { bound, outbound, body, request, makesTokens } = opening;
  const attempt = opened(call, opening);
  try {
    if (opening.limited && isLimited(bound, call)) await holdTarget(pipeline, call, bound, attempt, opening);
    const noted = attempt.noted(pipeline.flights, body, request, makesTokens);
    if (noted !== undefined) await noted;
    const authorised = pipeline.credentials.authorised(bound, outbound);
    return await read(await dial(authorised === undefined ? outbound : await authorised), attempt);
  } catch (thrown) {
    const { usage, model } = thrown instanceof FailedAnswer ? thrown : NOTHING_HEARD;
    throw attempt.fail(thrown, usage === undefined ? {} : { usage }, model);
  }
}

function opened(call: Call, opening: Opening): Attempt {
  const { id, bound, outbound, model, request, streams, aside } = opening;
  const { target, stored } = bound;
  const attempt = new Attempt(call, target, outbound.origin, model, id, aside);
  attempt.pricedBy = stored?.pricing;
  if (opening.name !== undefined) attempt.form = pieceForm(opening.name);
  if (opening.estimated) attempt.asks(request);
  if (aside || !opening.written) noteTarget(call, target);
  else noteSent(call, outbound, target);
  if (aside) return attempt;
  call.record.virtualKey = stored?.slug;
  if (streams) {
    attempt.assembled = assembledIn(call, opening.name ?? 'chat');
    call.record.streamed = true;
  }
  return attempt;
}
