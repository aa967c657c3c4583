// Whether the gateway makes a response in the background, and the call that it does so with.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type CreateResponseRequest,
  CreateResponseRequestSchema,
} from '../../../gen/gateway/inference/v2/responses_pb.ts';
import type { Call } from '../../call/call.ts';
import { callerOf } from '../../call/kept-caller.ts';
import { invalidField } from '../../lib/errors.ts';
import { randomId } from '../../lib/random-id.ts';
import { responseHead } from '../../providers/forms/responses/head.ts';
import { has } from '../../providers/offered.ts';
import { codec } from '../../rest/codec.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { planOf } from '../plan/select.ts';
import type { Run } from './background-run.ts';
import type { BackgroundRuns } from './background-runs.ts';
import { withIds } from './item-ids.ts';
import { makerOf } from './made-by.ts';
import { plainItems } from './plain-items.ts';
import { ownerOf, type Resolved } from './resolve.ts';

/** Whether a provider of the call's plan has no responses in the background: then the gateway makes this one. */
export async function isOwn(
  { planner, dialects }: Pipeline,
  call: Call,
  { background, store, model }: CreateResponseRequest,
): Promise<boolean> {
  if (background !== true) return false;
  if (store === false)
    throw invalidField(
      'background',
      'cannot be given together with store: false, because a background response is stored until it is read',
    );
  const { plan, bind } = await planOf(call, planner, model);
  for (const target of plan.targets) {
    const { provider } = (await bind(target)).target;
    const dialect = dialects.get(provider.dialect);
    const isNative = dialect !== undefined && has(provider, dialect, 'responses');
    if (!isNative || !has(provider, dialect, 'cancelResponse')) return true;
  }
  return false;
}

/** Starts the response. @throws GatewayError overloaded, store_unavailable, body_too_large */
export function begun(
  runs: BackgroundRuns,
  call: Call,
  { request, before }: Resolved<CreateResponseRequest>,
  previous: string | undefined,
): Promise<Run> {
  const id = `resp_${randomId().replaceAll('-', '')}`;
  const told = { ...request, input: undefined };
  const head = codec.encode(CreateResponseRequestSchema, told) as JsonObject;
  const response: JsonObject = {
    ...responseHead(head, id, Math.floor(Date.now() / 1000)),
    status: 'queued',
    background: true,
    previous_response_id: previous ?? null,
  };
  const own = withIds(plainItems(request.input).slice(before.length), id);
  const { stream: _, stream_options: __, ...again } = head;
  return runs.begin(
    {
      id,
      owner: ownerOf(call),
      response,
      input: { input: [...before, ...own], before: before.length },
      made: makerOf(call),
    },
    { request: again, caller: callerOf(call), traceId: call.traceId },
  );
}
