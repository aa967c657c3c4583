// Forms whose model, which names the stored provider, stands after the file: curl's examples and openai's client for Node
// send what is named first first.
import { Readable } from 'node:stream';
import test from 'ava';
import OpenAI, { toFile } from 'openai';
import { type Bench, startBench } from '../contract/runner.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { limitsClient } from '../support/limits-client.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
  const { admin } = limitsClient(bench.gateway, bench.provider);
  await admin('POST', '/integrations', {
    name: 'late',
    slug: 'late',
    ai_provider_id: 'openai',
    key: 'sk-of-late',
    configurations: { custom_host: `${bench.provider.origin}/late` },
  });
  await admin('PUT', '/integrations/late/workspaces', {
    workspaces: [{ id: 'default', enabled: true }],
  });
});
test.after.always(() => bench?.close());

const AUDIO = Buffer.from(Array.from({ length: 5000 }, (_, i) => i % 256));

function answers(): void {
  bench.provider.next('/late/audio/transcriptions', (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' }).end('{"text":"hello"}');
  });
}

function post(members: readonly (readonly [string, string | Blob])[]): Promise<Response> {
  const body = new FormData();
  for (const [name, value] of members)
    if (typeof value === 'string') body.append(name, value);
    else body.append(name, value, 'a.wav');
  const headers = { 'x-gateway-api-key': WORKSPACE_KEY };
  return fetch(`${bench.gateway.origin}/v1/audio/transcriptions`, { method: 'POST', headers, body });
}

test.serial("openai's client with the file first: from a stream, and from bytes", async (t) => {
  const openai = new OpenAI({
    apiKey: WORKSPACE_KEY,
    baseURL: `${bench.gateway.origin}/v1`,
    maxRetries: 0,
  });
  const stream = Object.assign(Readable.from([AUDIO]), { path: '/a.wav' });
  for (const file of [stream as never, await toFile(AUDIO, 'a.wav')]) {
    answers();
    const { text } = await openai.audio.transcriptions.create({
      file,
      model: '@late/whisper-1',
      language: 'en',
    });
    t.is(text, 'hello');
    const seen = bench.provider.seen.at(-1)!;
    t.is(seen.headers.authorization, 'Bearer sk-of-late');
    const type = String(seen.headers['content-type']);
    const form = await new Response(new Uint8Array(seen.body), {
      headers: { 'content-type': type },
    }).formData();
    t.is(form.get('model'), 'whisper-1');
    t.is(form.get('language'), 'en');
    t.true(Buffer.from(await (form.get('file') as File).arrayBuffer()).equals(AUDIO));
  }
});

test.serial('what names no provider, or comes too late, is refused and says why', async (t) => {
  const before = bench.provider.seen.length;
  const file = ['file', new Blob([AUDIO])] as const;
  const wrong = async (
    members: readonly (readonly [string, string | Blob])[],
    pattern: RegExp,
    status = 400,
  ) => {
    const answer = await post(members);
    t.is(answer.status, status, await answer.clone().text());
    t.regex(await answer.text(), pattern);
  };
  await wrong([file], /no provider is selected/);
  await wrong([file, ['model', '@nobody/whisper-1']], /nobody/);
  await wrong(
    [['language', 'en'], file, ['language', 'de'], ['model', '@late/whisper-1']],
    /language: must be given once/,
  );
  const long = new Blob([Buffer.alloc(26 * 1_048_576)]);
  await wrong(
    [
      ['file', long],
      ['model', '@late/whisper-1'],
    ],
    /must stand before a file of more than 25 MiB/,
  );
  t.is(bench.provider.seen.length, before);
});
