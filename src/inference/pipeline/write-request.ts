// A request in a provider's words: a long one is translated and written in turns of the event loop of its own.
import type { Call } from '../../call/call.ts';
import { jsonInSlices, UnwrittenJson } from '../../lib/json-in-slices.ts';
import { nextTurn } from '../../lib/time-slices.ts';
import type { Operation, Outbound, StreamingOperation, TranslationContext } from '../../providers/dialect.ts';
import { LIGHT_BYTES } from '../../rest/json-weight.ts';

/** A provider's request with the body that is sent. */
export interface Written extends Outbound {
  readonly body: string | Uint8Array | undefined;
}

/** A request that asks for a whole answer. */
export function writeWhole<Request>(
  call: Call,
  operation: Operation<Request, unknown>,
  request: Request,
  context: TranslationContext,
): Written | Promise<Written> {
  const write = () => operation.request(request, context);
  return isLong(call)
    ? writeLong(write, () => operation.prepare?.(request, context, false))
    : written(write());
}

/** A request that asks for pieces. */
export function writeStreamed<Request>(
  call: Call,
  operation: StreamingOperation<Request, unknown, unknown>,
  request: Request,
  context: TranslationContext,
): Written | Promise<Written> {
  const write = () => operation.streamRequest(request, context);
  return isLong(call)
    ? writeLong(write, () => operation.prepare?.(request, context, true))
    : written(write());
}

/** The same request, its body written. */
export function written(outbound: Outbound): Written | Promise<Written> {
  const { body } = outbound;
  return body instanceof UnwrittenJson ? writtenInSlices(outbound, body) : (outbound as Written);
}

/** Whether each part of the work on a request is for a turn of its own: 6,000 messages take 40 ms at first. */
function isLong({ bodyBytes }: Call): boolean {
  return (bodyBytes ?? 0) > LIGHT_BYTES;
}

async function writeLong(write: () => Outbound, prepare: () => void): Promise<Written> {
  await nextTurn();
  prepare();
  await nextTurn();
  const outbound = write();
  await nextTurn();
  return written(outbound);
}

async function writtenInSlices(outbound: Outbound, { value }: UnwrittenJson): Promise<Written> {
  return { ...outbound, body: await jsonInSlices(value) };
}
