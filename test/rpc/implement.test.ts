// A service is held against its descriptor by the compiler: what does not fit its service does not compile.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { ROOT, run } from '../architecture/tools.ts';

const HEAD = `
import type { Call } from '${ROOT}src/call/call.ts';
import { implement } from '${ROOT}src/rpc/implement.ts';
import { ChatService, type ChatCompletion, type ChatCompletionChunk, type CreateChatCompletionRequest } from '${ROOT}gen/gateway/inference/v2/chat_pb.ts';
import { ProxyService, type ForwardRequest, type ForwardResponse } from '${ROOT}gen/gateway/inference/v2/proxy_pb.ts';
declare const whole: (request: CreateChatCompletionRequest, call: Call) => Promise<ChatCompletion>;
declare const pieces: (request: CreateChatCompletionRequest, call: Call) => Promise<AsyncIterable<ChatCompletionChunk>>;
declare const wrongRequest: (request: ForwardRequest, call: Call) => Promise<ChatCompletion>;
declare const forward: (requests: AsyncIterable<ForwardRequest>, call: Call) => Promise<AsyncIterable<ForwardResponse>>;
declare const forwardOne: (request: ForwardRequest, call: Call) => Promise<AsyncIterable<ForwardResponse>>;
export default`;

/** What is implemented, and what the compiler says of it; undefined: nothing. */
const CASES: Readonly<Record<string, readonly [string, RegExp | undefined]>> = {
  whole: ['implement(ChatService, { createChatCompletion: whole, streamChatCompletion: pieces })', undefined],
  forwarded: ['implement(ProxyService, { forward })', undefined],
  missing: ['implement(ChatService, { createChatCompletion: whole })', /streamChatCompletion/],
  renamed: [
    'implement(ChatService, { createChatCompletion: whole, streamChat: pieces })',
    /streamChatCompletion|streamChat/,
  ],
  unknown: [
    'implement(ChatService, { createChatCompletion: whole, streamChatCompletion: pieces, dropChat: whole })',
    /never/,
  ],
  answer: [
    'implement(ChatService, { createChatCompletion: async () => ({}) as ForwardResponse, streamChatCompletion: pieces })',
    /createChatCompletion|ForwardResponse/,
  ],
  chunk: [
    'implement(ChatService, { createChatCompletion: whole, streamChatCompletion: async () => [] as unknown as AsyncIterable<ChatCompletion> })',
    /AsyncIterable/,
  ],
  request: [
    'implement(ChatService, { createChatCompletion: wrongRequest, streamChatCompletion: pieces })',
    /ForwardRequest/,
  ],
  notStreamed: [
    'implement(ChatService, { createChatCompletion: whole, streamChatCompletion: whole })',
    /asyncIterator/,
  ],
  notStreaming: ['implement(ProxyService, { forward: forwardOne })', /forward|AsyncIterable/],
};

test('a service that does not fit its descriptor does not compile', async (t) => {
  t.timeout(120_000);
  const folder = await mkdtemp(join(tmpdir(), 'implement-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const names = Object.keys(CASES);
  await Promise.all([
    writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: join(ROOT, 'tsconfig.json'),
        compilerOptions: { typeRoots: [join(ROOT, 'node_modules/@types')], noUnusedLocals: false },
        include: names.map((name) => `${name}.ts`),
      }),
    ),
    writeFile(join(folder, 'package.json'), '{"type":"module"}'),
    ...names.map((name) => writeFile(join(folder, `${name}.ts`), `${HEAD} ${CASES[name]![0]};\n`)),
  ]);
  const { output } = await run('tsc', ['-p', folder, '--pretty', 'false']);
  for (const [name, [, expected]] of Object.entries(CASES)) {
    const errors = output.split(/\n(?=\S)/).filter((error) => error.includes(`${name}.ts(`));
    if (expected === undefined) t.deepEqual(errors, [], name);
    else {
      t.is(errors.length, 1, `${name}: ${output}`);
      t.regex(errors[0]!, expected, name);
    }
  }
});
