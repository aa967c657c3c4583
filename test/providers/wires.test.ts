// Recordings of each provider of OpenAI's wire in its own way of writing it (wires/profiles.ts): the stream put together
// is the whole answer, at whichever bytes it is cut; counts, refusals and what only the provider has come back.

import test, { type ExecutionContext } from 'ava';
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream';
import { GatewayError } from '../../src/lib/errors.ts';
import { providers } from '../../src/providers/catalog/registry.ts';
import { has } from '../../src/providers/offered.ts';
import { dialects } from './support/golden.ts';
import { pieces, seeded } from './support/random.ts';
import { PROFILES, type WireProfile } from './wires/profiles.ts';
import { paidBy, SAYINGS, type Said, streamOf, wholeOf } from './wires/recorded.ts';
import { replay } from './wires/replay.ts';

interface Message {
  readonly content: string | null;
  readonly role: string;
  readonly tool_calls?: readonly { readonly id: string; readonly type: string; readonly function: object }[];
}

const shared = providers.filter(
  (entry) => entry.dialect === 'openai' && has(entry, dialects.get('openai')!, 'chat'),
);

test('every profile is one of a provider of the wire; providers without one share its recordings', (t) => {
  const known = new Set(shared.map(({ id }) => id));
  t.deepEqual(
    Object.keys(PROFILES).filter((id) => !known.has(id)),
    [],
  );
  t.true(Object.keys(PROFILES).length > 50);
});

const ASKED = {
  model: 'm',
  max_completion_tokens: 9,
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } },
      ],
    },
  ],
  response_format: {
    type: 'json_schema',
    json_schema: { name: 's', strict: true, schema: { type: 'object', additionalProperties: false } },
  },
  zzz_own_of_it: { a: [1, null] },
};

/** The message that OpenAI's own client makes of the chunks. */
async function folded(chunks: readonly object[]): Promise<{ message: Message; finish: string | null }> {
  const lines = chunks.map((chunk) => `${JSON.stringify(chunk)}\n`);
  const body = new ReadableStream({
    start(controller) {
      for (const line of lines) controller.enqueue(Buffer.from(line));
      controller.close();
    },
  });
  const { choices } = await ChatCompletionStream.fromReadableStream(body).finalChatCompletion();
  const [choice] = choices;
  return { message: choice!.message as unknown as Message, finish: choice!.finish_reason };
}

function check(
  t: ExecutionContext,
  profile: WireProfile,
  said: Said,
  message: Message,
  finish: unknown,
): void {
  const { text, thought, calls, ends } = said;
  const shown = profile.reasoning === 'think' && thought !== '' ? `<think>${thought}</think>${text}` : text;
  t.is(message.content ?? '', shown);
  t.is(message.role, 'assistant');
  t.deepEqual(
    (message.tool_calls ?? []).map(({ function: called }) => called),
    calls as never,
  );
  const ids = (message.tool_calls ?? []).map(({ id, type }) => (type === 'function' ? id : ''));
  t.is(new Set(ids).size, calls.length);
  t.true(ids.every((id) => id !== ''));
  const own = ends === 'tools' && profile.finish?.tools === 'stop' ? ['stop'] : [];
  t.true(
    [{ stop: 'stop', tools: 'tool_calls', length: 'length' }[ends], ...own].includes(String(finish)),
    String(finish),
  );
}

for (const [id, profile] of Object.entries(PROFILES)) {
  for (const [name, said] of Object.entries(SAYINGS))
    test(`${id}: ${name}`, async (t) => {
      const { whole, stream, told } = replay(id);
      const { json, usage } = whole(wholeOf(profile, said));
      const choice = (json as unknown as { choices: { message: Message; finish_reason: string }[] })
        .choices[0]!;
      check(t, profile, said, choice.message, choice.finish_reason);
      const paid = JSON.stringify(paidBy(profile));
      t.is(countsIn(usage), paid);
      for (const [member, value] of Object.entries({ ...profile.own }))
        t.deepEqual((json as Record<string, unknown>)[member], value, member);
      for (const [member, value] of Object.entries({ ...profile.ownMessage }))
        t.deepEqual((choice.message as unknown as Record<string, unknown>)[member], value, member);

      const bytes = streamOf(profile, said);
      const once = stream([bytes]);
      const client = await folded(once.chunks);
      check(t, profile, said, client.message, client.finish);
      t.is(countsIn(once.usage), paid);
      const expected = told([bytes]);
      for (let at = 1; at < bytes.length; at += name === 'calls' ? 1 : 7)
        if (told([bytes.subarray(0, at), bytes.subarray(at)]) !== expected) t.fail(`cut behind byte ${at}`);
      for (let seed = 0; seed < 10; seed++)
        t.is(told(pieces(bytes, seeded(seed), [1, 5, 40][seed % 3]!)), expected, `seed ${seed}`);
      const half = stream(
        [bytes.subarray(0, bytes.length / 2)].flatMap((piece) => [...pieces(piece, seeded(1), 9)]),
        'error',
      );
      t.regex(half.error?.reason ?? '', /^upstream_(?:interrupted|garbage)$/);
    });

  test(`${id}: thoughts are for those who are not strict`, (t) => {
    if (profile.reasoning === undefined || profile.reasoning === 'think') return t.pass();
    const { json } = replay(id, false).whole(wholeOf(profile, SAYINGS.thoughts));
    t.true(JSON.stringify(json).includes(SAYINGS.thoughts.thought));
    const { chunks } = replay(id, false).stream([streamOf(profile, SAYINGS.thoughts)]);
    const said = chunks.map((chunk) => {
      const { delta } =
        (chunk as unknown as { choices: { delta: Record<string, string> }[] }).choices[0] ?? {};
      return delta?.reasoning_content ?? delta?.reasoning ?? '';
    });
    t.is(said.join(''), SAYINGS.thoughts.thought);
  });

  test(`${id}: images and structured output reach it as they are`, (t) => {
    const { renames = {} } = shared.find((entry) => entry.id === id)!;
    const body = JSON.parse(replay(id).request(ASKED)) as object;
    const asked = { ...ASKED, [renames.max_completion_tokens ?? 'max_completion_tokens']: 9 };
    if (renames.max_completion_tokens !== undefined)
      delete (asked as Record<string, unknown>).max_completion_tokens;
    t.deepEqual(body, asked);
  });

  test(`${id}: its refusals`, (t) => {
    const [status, body, read] = profile.error;
    const { dialect, whole, stream } = replay(id);
    const text = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    t.deepEqual(dialect.error(status, text), read);
    const { inside } = profile;
    if (inside === undefined) return;
    const [said, message] = inside;
    const bytes = Buffer.from(typeof said === 'string' ? said : JSON.stringify(said));
    const thrown = t.throws(() => whole(bytes), { instanceOf: GatewayError, message });
    t.true((thrown?.status ?? 0) >= 400);
    if (typeof said === 'string') return;
    const streamed = stream([Buffer.from(`data: ${JSON.stringify(said)}\n\n`)], 'error');
    t.regex(streamed.error?.message ?? '', message);
  });
}

function countsIn(usage: Record<string, number> | undefined): string {
  const { prompt_tokens, completion_tokens, total_tokens } = usage ?? {};
  return JSON.stringify({ prompt_tokens, completion_tokens, total_tokens });
}
