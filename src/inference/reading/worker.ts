// Reads long answers of providers off the event loop: parsed, translated and written as the caller's JSON.
import { parentPort } from 'node:worker_threads';
import { toBinary } from '@bufbuild/protobuf';
import { UsageSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import { toGatewayError } from '../../lib/errors.ts';
import { MOST_EVENT_WEIGHT, readingWeight, rewritingWeight } from '../../lib/heavy-event.ts';
import { JsonScan } from '../../lib/json-scan.ts';
import { rawJsonOf } from '../../lib/raw-json.ts';
import { providerById } from '../../providers/catalog/registry.ts';
import type { Operation, TranslationContext } from '../../providers/dialect.ts';
import { createDialects } from '../../providers/dialects/registry.ts';
import { spoken } from '../../providers/forms/spoken.ts';
import { operationRow } from '../../providers/operations.ts';
import { codec } from '../../rest/codec.ts';
import { MAX_SAID } from '../pipeline/attempt.ts';
import { pieceForm } from '../pipeline/pieces/piece-forms.ts';
import { type PostedOrder, type ReadingReply, type ReadReply, tooHeavyAnswer } from './order.ts';

const dialects = createDialects(codec);

parentPort?.on('message', (order: PostedOrder) => {
  const reply = replyTo(order);
  const own = reply.kind === 'read' && reply.json !== undefined ? [reply.json.buffer as ArrayBuffer] : [];
  parentPort?.postMessage(reply, own);
});

function replyTo(order: PostedOrder): ReadingReply {
  try {
    return read(order);
  } catch (thrown) {
    // What is nested too deeply exhausts the stack.
    const error = thrown instanceof RangeError ? tooHeavyAnswer(order.provider) : toGatewayError(thrown);
    const { reason, message, details } = error;
    const { cause: _, ...told } = details;
    return { kind: 'failed', reason, message, details: told };
  }
}

/** @throws GatewayError what the operation throws, `upstream_garbage` for what is too heavy */
function read(order: PostedOrder): ReadReply {
  const { name, provider: id } = order;
  const body = Buffer.from(order.body);
  const scan = new JsonScan(body);
  scan.run(body.length, order.mostWeight);
  if (scan.weight > order.mostWeight) throw tooHeavyAnswer(id);
  const row = operationRow(name);
  const { operation, context } = spokenFor(order);
  const request = codec.decode(row.request, requestOf(order.request));
  const { answer, usage, model, tier } = operation.response(body, request, context);
  const raw = rawJsonOf(answer);
  const json =
    raw === body ? undefined : bytesOf(raw ?? JSON.stringify(codec.encode(row.answer, answer as never)));
  const isTold = typeof usage === 'object';
  const { serviceTier } = isTold ? {} : (answer as { readonly serviceTier?: unknown });
  return {
    kind: 'read',
    json,
    isReadable: readingWeight(json ?? body) <= MOST_EVENT_WEIGHT,
    isRewritable: rewritingWeight(json ?? body) <= MOST_EVENT_WEIGHT,
    id: idOf(answer),
    usage: isTold ? toBinary(UsageSchema, usage) : usage,
    model,
    tier: tier ?? (typeof serviceTier === 'string' ? serviceTier : undefined),
    said: isTold ? undefined : pieceForm(name).said(answer).slice(0, MAX_SAID),
  };
}

function spokenFor({ provider: id, name, options, customHost, strict, now }: PostedOrder): {
  readonly operation: Operation<object, object>;
  readonly context: TranslationContext;
} {
  const provider = providerById(id);
  const dialect = provider && dialects.get(provider.dialect);
  const found = provider && dialect && spoken(codec, dialect, provider, name);
  if (provider === undefined || found === undefined) throw new Error(`${id} does not offer ${name}`);
  const target = { provider, apiKey: undefined, options, customHost, strict };
  return { operation: found.operation as Operation<object, object>, context: { target, now: () => now } };
}

function requestOf(request: string | Uint8Array | undefined): unknown {
  if (request === undefined) return {};
  return JSON.parse(typeof request === 'string' ? request : Buffer.from(request).toString('utf8'));
}

function idOf({ id }: { readonly id?: unknown }): string | undefined {
  return typeof id === 'string' ? id : undefined;
}

/** In memory of their own, which can be given away. */
function bytesOf(json: string | Uint8Array): Uint8Array {
  return typeof json === 'string' ? new TextEncoder().encode(json) : new Uint8Array(json);
}
