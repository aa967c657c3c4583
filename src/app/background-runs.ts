// Responses in the background whose process is gone are made again: as calls of this process, in their callers' names.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Message } from '@bufbuild/protobuf';
import { ResponsesService } from '../../gen/gateway/inference/v2/responses_pb.ts';
import type { KeyRing } from '../access/key-ring.ts';
import { Call } from '../call/call.ts';
import type { AgainOrder, BackgroundRuns } from '../inference/responses/background-runs.ts';
import { isForWantOfRoom, toGatewayError } from '../lib/errors.ts';
import { GatewayHeaders, type HeaderNames } from '../lib/gateway-headers.ts';
import { codec } from '../rest/codec.ts';
import type { InProcess } from '../rpc/in-process.ts';
import { principalOf } from './kept-principal.ts';

/** How often responses are looked for whose process is gone, in milliseconds. */
const LOOK_MS = 5000;
/** Longest wait between two tries while limits have no room, in milliseconds. */
const MAX_WAIT_MS = 15_000;
const METHOD = ResponsesService.method.createResponse;

/** What calls are made with. */
export interface AgainDeps {
  readonly runs: BackgroundRuns;
  readonly transport: InProcess;
  readonly names: HeaderNames;
  readonly keys: KeyRing;
}

/** Takes over what processes that are gone have left, from now on. */
export function openBackgroundRuns(deps: AgainDeps): { close(): void } {
  deps.runs.open((order) => madeAgain(deps, order));
  const timer = setInterval(() => void deps.runs.look(), LOOK_MS).unref();
  return { close: () => clearInterval(timer) };
}

/** Waits while limits have no room. @throws GatewayError what the call ends with */
async function madeAgain(deps: AgainDeps, order: AgainOrder): Promise<void> {
  const bodyBytes = Buffer.byteLength(JSON.stringify(order.request));
  for (;;) {
    const call = callOf(deps, order);
    call.bodyBytes = bodyBytes;
    order.link(call);
    try {
      await deps.transport.unary(call, (): Message => codec.decodeRequest(METHOD.input, order.request));
      return;
    } catch (thrown) {
      const error = toGatewayError(thrown);
      if (order.signal.aborted || !isForWantOfRoom(error) || call.record.attempts.length > 0) throw error;
      await sleep(Math.min(error.details.retryAfterMs ?? 1000, MAX_WAIT_MS), undefined, {
        signal: order.signal,
      });
    }
  }
}

function callOf({ names, keys }: AgainDeps, { owner, caller, traceId }: AgainOrder): Call {
  const headers = new GatewayHeaders(names, caller.headers);
  const source = {
    protocol: 'in-process',
    headers,
    httpMethod: 'POST',
    path: '/responses',
    remote: '',
  } as const;
  const call = new Call(METHOD, source);
  call.traceId = traceId;
  call.identity = {
    principal: principalOf(keys, owner.organisationId, caller),
    key: '',
    providerCredential: caller.providerCredential,
  };
  call.repeats = true;
  return call;
}
