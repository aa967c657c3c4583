// How Gemini's turns end, told in every form, whole and streamed: what is no answer is never an empty one that looks right.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Json, limitsClient } from '../support/limits-client.ts';

let gateway: TestGateway;
let server: http.Server;
let origin = '';
/** Answers with the reason that is the model's name; `said-` in front: after a text. */
test.before(async () => {
  server = http.createServer((req, res) => {
    const [, said, reason] = /models\/(said-)?([A-Z_]+):/.exec(req.url ?? '') ?? [];
    const answer = {
      candidates: [
        {
          content: said ? { role: 'model', parts: [{ text: 'Said.' }] } : {},
          finishReason: reason,
          finishMessage: `why ${reason}`,
          index: 0,
        },
      ],
      usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 },
      modelVersion: 'gemini-2.5-flash',
      responseId: 'r1',
    };
    const isStream = req.url?.includes('streamGenerateContent');
    res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    res.end(isStream ? `data: ${JSON.stringify(answer)}\r\n\r\n` : JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  gateway = await startGateway();
});
test.after.always(async () => {
  server?.close();
  await gateway?.close();
});

const PATHS = { chat: '/chat/completions', responses: '/responses', messages: '/messages' } as const;
type Form = keyof typeof PATHS;

interface Told {
  readonly status: number;
  readonly text: string;
  readonly json: Json;
  readonly events: readonly Json[];
}

async function ask(form: Form, model: string, stream: boolean, traceId = 'endings'): Promise<Told> {
  const turn = [{ role: 'user', content: 'hi' }];
  const input = form === 'responses' ? { input: turn } : { messages: turn, max_tokens: 100 };
  const config = {
    provider: 'google',
    api_key: 'k',
    custom_host: `${origin}/v1beta`,
    retry: { attempts: 0 },
  };
  const answer = await fetch(`${gateway.origin}/v1${PATHS[form]}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${WORKSPACE_KEY}`,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify(config),
      'x-gateway-trace-id': traceId,
    },
    body: JSON.stringify({ model, stream, ...input }),
  });
  const text = await answer.text();
  const events = text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as Json);
  return {
    status: answer.status,
    text,
    events,
    json: text.startsWith('{') ? (JSON.parse(text) as Json) : {},
  };
}

/** How the form says that the answer ended. */
function endOf(form: Form, { json, events }: Told): unknown {
  if (form === 'messages')
    return (
      json.stop_reason ?? (events.find(({ type }) => type === 'message_delta')?.delta as Json)?.stop_reason
    );
  if (form === 'responses') {
    const response = (json.object === 'response' ? json : events.at(-1)?.response) as Json | undefined;
    return `${response?.status}: ${(response?.incomplete_details as Json | null)?.reason}`;
  }
  const choices = [json, ...events].flatMap(({ choices = [] }) => choices as Json[]);
  return choices.find(({ finish_reason: reason }) => reason)?.finish_reason;
}

const WITHHELD = [
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MODEL_ARMOR',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
];
const FAILED = [
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
];
/** Failures where nothing was said. */
const BARE = ['NO_IMAGE', 'IMAGE_OTHER', 'OTHER', 'A_REASON_OF_TOMORROW'];
const FILTERED = { chat: 'content_filter', responses: 'incomplete: content_filter', messages: 'refusal' };
const CUT = { chat: 'length', responses: 'incomplete: max_output_tokens', messages: 'max_tokens' };
const WHOLE = { chat: 'stop', responses: 'completed: undefined', messages: 'end_turn' };

for (const form of ['chat', 'responses', 'messages'] as const)
  for (const stream of [false, true]) {
    const way = `${form}, ${stream ? 'streamed' : 'whole'}`;

    test(`${way}: what a filter withholds says so, with the provider's words where there is nothing else`, async (t) => {
      for (const reason of WITHHELD) {
        const bare = await ask(form, reason, stream);
        t.is(bare.status, 200, reason);
        t.is(endOf(form, bare), FILTERED[form], reason);
        t.true(bare.text.includes(`why ${reason}`), `${reason}: ${bare.text}`);
        const said = await ask(form, `said-${reason}`, stream);
        t.is(endOf(form, said), FILTERED[form], reason);
        t.false(said.text.includes(`why ${reason}`), reason);
      }
    });

    test(`${way}: a turn that failed is an error, whatever was said before`, async (t) => {
      for (const reason of [...FAILED, ...FAILED.map((one) => `said-${one}`), ...BARE]) {
        const { status, text } = await ask(form, reason, stream);
        t.is(status, reason.endsWith('MISSING_THOUGHT_SIGNATURE') ? 400 : 502, reason);
        t.true(text.includes(`why ${reason.replace('said-', '')}`), `${reason}: ${text}`);
      }
    });

    test(`${way}: a text with an end of another kind is an answer, cut short where the reason says so`, async (t) => {
      for (const reason of ['OTHER', 'IMAGE_OTHER', 'MAX_TOKENS'])
        t.is(endOf(form, await ask(form, `said-${reason}`, stream)), CUT[form], reason);
      for (const reason of ['STOP', 'NO_IMAGE', 'A_REASON_OF_TOMORROW'])
        t.is(
          String(endOf(form, await ask(form, `said-${reason}`, stream))).replace('null', 'undefined'),
          WHOLE[form],
          reason,
        );
    });

    test(`${way}: the tokens of a turn that failed are in the books`, async (t) => {
      const traceId = `failed-${form}-${stream}`;
      await ask(form, 'MALFORMED_FUNCTION_CALL', stream, traceId);
      const [entry] = await limitsClient(gateway, { origin } as never).logs(traceId);
      t.like(entry, { status_code: 502, usage: { prompt_tokens: 8 } });
    });
  }
