// The stages around every call: its place among the calls in flight, its one entry, its trace id and its time.
import { create, type Message } from '@bufbuild/protobuf';
import test from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import type { Call } from '../../src/call/call.ts';
import type { RequestRecord } from '../../src/call/record.ts';
import { fail, GatewayError } from '../../src/lib/errors.ts';
import type { Handler } from '../../src/rpc/handler.ts';
import { capacityInterceptor } from '../../src/rpc/interceptors/capacity.ts';
import { deadlineInterceptor } from '../../src/rpc/interceptors/deadline.ts';
import { logEntryInterceptor } from '../../src/rpc/interceptors/log-entry.ts';
import { traceInterceptor } from '../../src/rpc/interceptors/trace.ts';
import { callWith } from '../support/calls.ts';

const answer: Message = create(ChatService.method.createChatCompletion.output);

/** The stages in their order around a method, and what they reported. */
function stages(handler: Handler, places = 1) {
  const seen = { entries: [] as RequestRecord[], statuses: [] as number[], inFlight: 0 };
  const capacity = {
    begin: () => seen.inFlight < places && ++seen.inFlight > 0,
    leave: () => void seen.inFlight--,
  };
  const observer = {
    end: (_: string, status: number) => void seen.statuses.push(status),
    complete: () => undefined,
    record: (entry: RequestRecord | Promise<RequestRecord>) => {
      if (!(entry instanceof Promise)) seen.entries.push(entry);
      return undefined;
    },
  };
  const method = ChatService.method.createChatCompletion;
  const run = [
    capacityInterceptor(capacity),
    logEntryInterceptor(observer),
    traceInterceptor(),
    deadlineInterceptor(),
  ].reduceRight((next, interceptor) => interceptor(method)(next), handler);
  return { seen, run: async (call: Call) => run(answer, call) };
}

async function* messages(): AsyncGenerator<Message> {
  yield answer;
  yield answer;
}

test('an answer, an error and a stream give back their place and have one entry each', async (t) => {
  const outputs: (() => Promise<Message | AsyncIterable<Message>>)[] = [
    async () => answer,
    async () => Promise.reject(fail('rate_limited', 'too many')),
    async () => messages(),
  ];
  const { seen, run } = stages(() => outputs.shift()!());
  t.is(await run(callWith({ id: 'a' })), answer);
  await t.throwsAsync(run(callWith({ id: 'b' })), { instanceOf: GatewayError });
  const stream = (await run(callWith({ id: 'c' }))) as AsyncIterable<Message>;
  t.is(seen.inFlight, 1, 'a stream keeps its place until it ends');
  for await (const message of stream) t.is(message, answer);
  t.is(seen.inFlight, 0);
  t.deepEqual(
    seen.entries.map(({ id, statusCode, outcome }) => [id, statusCode, outcome]),
    [
      ['a', 200, 'success'],
      ['b', 429, 'error'],
      ['c', 200, 'success'],
    ],
  );
});

test('a client that leaves a stream is 499, and its place is given back once', async (t) => {
  const { seen, run } = stages(async () => messages(), 2);
  const [first, second] = (await Promise.all([run(callWith()), run(callWith())])) as AsyncIterable<Message>[];
  const reader = first![Symbol.asyncIterator]();
  await reader.next();
  await reader.return?.();
  await reader.return?.();
  t.is(seen.inFlight, 1);
  t.deepEqual(seen.statuses, [499]);
  t.deepEqual([seen.entries.length, seen.entries[0]?.outcome], [1, 'cancelled']);
  for await (const _ of second!);
  t.is(seen.inFlight, 0);
});

test('a refused call takes no place, has no entry, and has a trace id', async (t) => {
  const { seen, run } = stages(async () => answer, 0);
  const call = callWith();
  await t.throwsAsync(run(call), { message: 'the gateway is at its limit of calls in flight' });
  t.deepEqual(seen, { entries: [], statuses: [], inFlight: 0 });
  t.regex(call.traceId, /^[0-9a-f-]{8,}$/);
  t.is(call.traceId, call.traceId);
});

test('a wrong trace id and a wrong timeout are 400, counted, logged, and give back their place', async (t) => {
  const { seen, run } = stages(async () => t.fail() as never);
  const wrong: Record<string, string>[] = [
    { 'x-gateway-trace-id': 'no spaces' },
    { 'x-gateway-request-timeout': '0' },
  ];
  for (const headers of wrong) await t.throwsAsync(run(callWith({ headers })), { instanceOf: GatewayError });
  t.deepEqual(seen.statuses, [400, 400]);
  t.deepEqual([seen.entries.length, seen.inFlight], [2, 0]);
});

test('the trace id is the header, else of traceparent; a call is aborted when its time is up', async (t) => {
  const { seen, run } = stages(
    (_, call) =>
      new Promise((_resolve, reject) =>
        call.signal.addEventListener('abort', () => reject(call.signal.reason)),
      ),
  );
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, 'x-gateway-request-timeout': '5' };
  await t.throwsAsync(run(callWith({ headers })), { message: /timeout of 5 ms/ });
  await t.throwsAsync(run(callWith({ headers: { ...headers, 'x-gateway-trace-id': 'mine' } })));
  t.deepEqual(
    seen.entries.map((entry) => [entry.traceId, entry.statusCode]),
    [
      [traceId, 408],
      ['mine', 408],
    ],
  );
});
