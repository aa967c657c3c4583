// Files of the gateway in requests of models: uploaded once to the provider that has files, data for others; over chat,
// Responses and Messages, REST and gRPC.
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import test from 'ava';
import OpenAI, { toFile } from 'openai';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { codec } from '../../src/rest/codec.ts';
import { type FilesProvider, startFilesProvider } from '../support/fake-files.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

let gateway: TestGateway;
let provider: FilesProvider;
test.before(async () => {
  [gateway, provider] = await Promise.all([startGateway(), startFilesProvider()]);
  const chat = {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'yes' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const response = {
    id: 'r',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'm',
    output: [],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  };
  provider.answer = (_verb, path) =>
    path.endsWith('/chat/completions')
      ? chat
      : path.endsWith('/messages')
        ? message
        : path.endsWith('/responses')
          ? response
          : undefined;
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

const openai = (headers: Record<string, string> = {}): OpenAI =>
  new OpenAI({
    apiKey: WORKSPACE_KEY,
    baseURL: `${gateway.origin}/v1`,
    maxRetries: 0,
    defaultHeaders: headers,
  });
const at = (id: string, key = 'sk') => ({
  'x-gateway-config': JSON.stringify({ provider: id, api_key: key, custom_host: provider.origin }),
});
const PDF = Buffer.from('%PDF-1.4 of a test');
const kept = async (name = 'a.pdf') =>
  (await openai().files.create({ file: await toFile(PDF, name), purpose: 'user_data' })).id;
const lastBody = () => provider.bodies.at(-1) as never;
const asked = (file_id: string) => ({
  model: 'm',
  messages: [
    {
      role: 'user' as const,
      content: [
        { type: 'text' as const, text: 'what?' },
        { type: 'file' as const, file: { file_id } },
      ],
    },
  ],
});

test.serial('a provider that has files gets a copy, once', async (t) => {
  const id = await kept();
  const before = provider.files.size;
  await Promise.all(Array.from({ length: 3 }, () => openai(at('openai')).chat.completions.create(asked(id))));
  await openai(at('openai')).chat.completions.create({ ...asked(id), stream: false });
  t.is(provider.files.size, before + 1);
  const [copy] = [...provider.files.values()].slice(-1);
  t.true(copy!.content!.equals(PDF));
  t.like(lastBody(), {
    messages: [{ content: [{ type: 'text' }, { type: 'file', file: { file_id: copy!.id } }] }],
  });
  await openai(at('openai')).responses.create({
    model: 'm',
    input: [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }],
  });
  t.like(lastBody(), { input: [{ content: [{ type: 'input_file', file_id: copy!.id }] }] });
  t.is(provider.files.size, before + 1);
  await openai(at('openai', 'sk-other')).chat.completions.create(asked(id));
  t.is(provider.files.size, before + 2, 'another account has its own');
});

const DATA = `data:application/pdf;base64,${PDF.toString('base64')}`;
test.serial('others get the bytes: chat, Responses over chat, Messages, gRPC', async (t) => {
  const id = await kept();
  await openai(at('deepseek')).chat.completions.create(asked(id));
  const file = { type: 'file', file: { filename: 'a.pdf', file_data: DATA } };
  t.like(lastBody(), { messages: [{ content: [{ type: 'text' }, file] }] });
  await openai(at('deepseek')).responses.create({
    model: 'm',
    input: [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }],
  });
  t.true(JSON.stringify(lastBody()).includes(DATA));
  const image = await kept('b.png');
  await openai(at('deepseek')).responses.create({
    model: 'm',
    input: [{ role: 'user', content: [{ type: 'input_image', file_id: image, detail: 'low' }] }],
  });
  t.true(JSON.stringify(lastBody()).includes(`data:image/png;base64,${PDF.toString('base64')}`));
  const source = { type: 'file', file_id: id };
  const messages = await fetch(`${gateway.origin}/v1/messages`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': WORKSPACE_KEY, 'content-type': 'application/json', ...at('anthropic') },
    body: JSON.stringify({
      model: 'm',
      max_tokens: 9,
      messages: [{ role: 'user', content: [{ type: 'document', source }] }],
    }),
  });
  t.is(messages.status, 200, await messages.text());
  t.like(lastBody(), {
    messages: [
      {
        content: [
          { source: { type: 'base64', media_type: 'application/pdf', data: PDF.toString('base64') } },
        ],
      },
    ],
  });
  const rpc = createClient(ChatService, createGrpcTransport({ baseUrl: gateway.origin }));
  const request = codec.decodeRequest(ChatService.method.createChatCompletion.input, asked(id));
  await rpc.createChatCompletion(request as never, {
    headers: { 'x-gateway-api-key': WORKSPACE_KEY, ...at('deepseek') },
  });
  t.like(lastBody(), { messages: [{ content: [{ type: 'text' }, file] }] });
});

test.serial('under a fallback each target gets the file as it can read it', async (t) => {
  const id = await kept();
  const target = (provider_: string) => ({
    provider: provider_,
    api_key: 'sk',
    custom_host: provider.origin,
  });
  const answer = provider.answer!;
  const seen: unknown[] = [];
  provider.answer = (verb, path, body) => {
    if (path.endsWith('/chat/completions')) seen.push(body);
    return seen.length === 1 && path.endsWith('/chat/completions') ? undefined : answer(verb, path, body);
  };
  t.teardown(() => {
    provider.answer = answer;
  });
  const config = { strategy: { mode: 'fallback' }, targets: [target('openai'), target('deepseek')] };
  await openai({ 'x-gateway-config': JSON.stringify(config) }).chat.completions.create(asked(id));
  t.regex(JSON.stringify(seen[0]), /"file_id":"file-\d+"/);
  t.true(JSON.stringify(seen[1]).includes(DATA));
});

test.serial('a file that is not there, and one where no file is read, are told by their place', async (t) => {
  for (const provider_ of ['openai', 'deepseek'])
    await t.throwsAsync(openai(at(provider_)).chat.completions.create(asked('file-gw-none')), {
      instanceOf: OpenAI.NotFoundError,
    });
  const id = await kept();
  const error = await t.throwsAsync(
    openai(at('deepseek')).chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: id }],
      ...{ container: { file_ids: [id] } },
    }),
    { instanceOf: OpenAI.BadRequestError },
  );
  t.is(error?.param, 'container.file_ids');
});
