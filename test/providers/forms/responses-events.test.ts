// Every recorded chat stream of every dialect as a Responses stream: it keeps to the grammar, its fold is the whole
// answer, and it does not depend on how the bytes were cut.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { JsonObject } from '@bufbuild/protobuf';
import test from 'ava';
import type { ChatCompletion, ChatCompletionChunk } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { rawJsonOf } from '../../../src/lib/raw-json.ts';
import type { Target } from '../../../src/providers/dialect.ts';
import { wholeResponse } from '../../../src/providers/forms/responses/form.ts';
import { responseHead } from '../../../src/providers/forms/responses/head.ts';
import { ResponsePieces } from '../../../src/providers/forms/responses/pieces.ts';
import type { ToolKinds } from '../../../src/providers/forms/responses/tools.ts';
import type { WriterDeps } from '../../../src/providers/forms/responses/writer.ts';
import { type FrameParser, frameParser } from '../../../src/providers/framing.ts';
import { codec } from '../../../src/rest/codec.ts';
import { GoldenCase } from '../support/golden.ts';
import { pieces, seeded } from '../support/random.ts';
import { contextOf, NOW } from '../support/target.ts';
import { faultsOf, folded } from './response-grammar.ts';

const ROOT = path.join(import.meta.dirname, '..', 'golden');
const ROUNDS = 12;
const KEY = '0123456789abcdef0123456789abcdef';

function depsOf({ provider }: Target, kinds: ToolKinds): WriterDeps {
  return {
    head: responseHead({ model: 'asked' }, `resp_${KEY}`, Math.floor(NOW / 1000)),
    key: KEY,
    kinds,
    wire: { dialect: provider.dialect, provider: provider.id },
  };
}

function eventsOf(
  { dialect, request, target: own }: GoldenCase,
  cut: Iterable<Uint8Array>,
  kinds: ToolKinds,
): JsonObject[] {
  const target = { ...own, strict: false };
  const inner = dialect.chat!.stream(request as never, contextOf(target));
  const outer = new ResponsePieces(
    codec,
    (tell) => ({ ...depsOf(target, kinds), tell }),
    () => NOW,
  );
  const parser = frameParser(dialect.framing ?? 'sse');
  const events: JsonObject[] = [];
  const take = (chunks: readonly ChatCompletionChunk[]): void => {
    for (const chunk of chunks) for (const event of outer.push(chunk)) events.push(jsonOf(event));
  };
  const read = (frames: ReturnType<FrameParser['push']>): void => {
    for (const frame of frames) if (!inner.done) take(inner.push(frame));
  };
  for (const piece of cut) read(parser.push(piece));
  read(parser.end());
  take(inner.end());
  for (const event of outer.end(inner.usage())) events.push(jsonOf(event));
  return events;
}

function jsonOf(message: object): JsonObject {
  return JSON.parse(String(rawJsonOf(message))) as JsonObject;
}

const NO_KINDS: ToolKinds = new Map();

/** Cases whose whole and streamed recordings say different things, or only one of them ends well. */
const OTHER_WORDS = new Set([
  'anthropic/usage-refused-negative',
  'cohere/failed',
  'google/tools',
  'openai/xai-reasoning-beside',
  'vertex-ai/gemini-tools',
]);

/** What a reader is shown, without the items that only carry something back. */
function shown({ output }: JsonObject): unknown[] {
  return (output as JsonObject[])
    .filter(({ type, summary }) => type !== 'reasoning' || (summary as unknown[]).length > 0)
    .map(({ id: _, encrypted_content: __, ...item }) => item);
}

for (const dialect of readdirSync(ROOT)) {
  for (const name of readdirSync(path.join(ROOT, dialect))) {
    const golden = new GoldenCase(path.join(ROOT, dialect, name), dialect);
    const bytes = golden.streamBytes();
    if (bytes === undefined || golden.settings.operation !== 'chat') continue;
    test(`${dialect}: ${name}`, (t) => {
      let whole: JsonObject[];
      try {
        whole = eventsOf(golden, [bytes], NO_KINDS);
      } catch (thrown) {
        // Streams that break: their own errors are told by the pipeline.
        t.true(thrown instanceof GatewayError);
        return;
      }
      t.deepEqual(faultsOf(whole), []);
      t.deepEqual(folded(whole), (whole.at(-1)!.response as JsonObject).output);
      for (let round = 0; round < ROUNDS; round += 1) {
        const cut = pieces(bytes, seeded(round), [1, 3, 20, 200][round % 4] as number);
        t.deepEqual(eventsOf(golden, cut, NO_KINDS), whole, `cut with seed ${round}`);
      }
    });
    if (golden.answerFile() !== 'provider-response.json' || OTHER_WORDS.has(`${dialect}/${name}`)) continue;
    // Refused whole, which the case itself checks.
    if ('error' in (golden.json('response.json') as object)) continue;
    test(`${dialect}: ${name}, streamed and whole say the same`, (t) => {
      const target = { ...golden.target, strict: false };
      const body = golden.bytes('provider-response.json');
      const { answer, usage } = golden.dialect.chat!.response(
        body,
        golden.request as never,
        contextOf(target),
      );
      const response = wholeResponse(answer as ChatCompletion, depsOf(target, NO_KINDS), NOW, usage);
      const { response: streamed } = eventsOf(golden, [bytes], NO_KINDS).at(-1)!;
      t.deepEqual(shown(streamed as JsonObject), shown(response));
    });
  }
}
