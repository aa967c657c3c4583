// Realtime: sessions and secrets for clients.
import type {
  CreateRealtimeSecretRequest,
  RealtimeFrame,
} from '../../../gen/gateway/inference/v2/realtime_pb.ts';
import type { Call } from '../../call/call.ts';
import { textOf } from '../../providers/json-object.ts';
import { arriving } from '../pipeline/arriving.ts';
import { keepBodies } from '../pipeline/kept-bodies.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { bindOnly, runWhole } from '../pipeline/run.ts';
import { worldOf } from '../pipeline/world.ts';
import { planOf } from '../plan/select.ts';
import { Route } from '../route/route.ts';
import { type Dialled, dial } from './dial.ts';
import { openingOf, Session, type SessionTimes } from './session.ts';
import type { TurnPort } from './turns.ts';

/** What sessions are run with. */
export interface RealtimeDeps {
  readonly turns: TurnPort;
  readonly times: SessionTimes;
}

/** The methods of RealtimeService. */
export function realtimeService(pipeline: Pipeline, { turns, times }: RealtimeDeps) {
  const secret =
    (name: 'realtimeSecret' | 'realtimeSession' | 'transcriptionSession') =>
    (request: CreateRealtimeSecretRequest, call: Call) =>
      runWhole(pipeline, call, name, request, request.model ?? textOf(request.session?.model));
  return {
    async connect(messages: AsyncIterable<RealtimeFrame>, call: Call): Promise<AsyncIterable<RealtimeFrame>> {
      if (call.turn !== undefined) return (await call.turn.run()) as AsyncIterable<RealtimeFrame>;
      const input = messages[Symbol.asyncIterator]();
      keepBodies(call, pipeline);
      const first = await arriving(input.next(), call.signal);
      const { model } = openingOf(first.value);
      const dialled = await dialPlan(pipeline, call, model);
      call.record.status = 101;
      call.record.streamed = true;
      return new Session(pipeline, turns, call, dialled, times).frames(input);
    },
    createClientSecret: secret('realtimeSecret'),
    createRealtimeSession: secret('realtimeSession'),
    createTranscriptionSession: secret('transcriptionSession'),
  };
}

/** The first target of the plan that accepts. @throws GatewayError as the last one that did not */
async function dialPlan(pipeline: Pipeline, call: Call, model: string | undefined): Promise<Dialled> {
  const routing = await planOf(call, pipeline.planner, model);
  const own = model?.startsWith('@') ? undefined : model;
  if (routing.plan.once) return dial(pipeline, call, await bindOnly(call, routing), own);
  const route = new Route<Dialled>(
    {
      ...worldOf(pipeline, call, routing, {
        params: () => ({ model }),
        pathname: '/v1/realtime',
        trace: undefined,
      }),
      attempt: async (target) => dial(pipeline, call, await routing.bind(target), own),
      idempotent: true,
      statusOf: () => 200,
      discard: ({ ws }) => ws.terminate(),
    },
    undefined,
  );
  try {
    return (await route.run(routing.plan.root, call.signal)).answer;
  } finally {
    call.record.targetPath = route.last?.path ?? '';
    call.record.retries = route.retries;
  }
}
