// OpenAI's Python client, unchanged: files, uploads, batches, images, audio, fine-tuning, vector stores and realtime.
import { execFile } from 'node:child_process';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { WebSocketServer } from 'ws';
import { startFilesProvider } from '../support/fake-files.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { pythonWith } from './python-environment.ts';

const run = promisify(execFile);

test('the Python client finds each API of media and files', async (t) => {
  t.timeout(180_000);
  const python = await pythonWith(t, {
    folder: 'python-openai',
    packages: ['openai[realtime]'],
    proof: 'import openai, websockets',
  });
  if (python === undefined) return;
  const [gateway, files, plain] = await Promise.all([
    startGateway({ GATEWAY_DRAIN_SECONDS: '1' }),
    startFilesProvider(),
    startFakeProvider(),
  ]);
  const live = http.createServer();
  t.teardown(async () => {
    live.closeAllConnections();
    live.close();
    await Promise.all([gateway.close(), files.close(), plain.close()]);
  });
  new WebSocketServer({ server: live }).on('connection', (ws) => {
    ws.send(
      JSON.stringify({ type: 'session.created', event_id: 'e', session: { type: 'realtime', id: 's' } }),
    );
    ws.on('message', () => {
      const response = { id: 'r', object: 'realtime.response', status: 'completed', output: [] };
      ws.send(JSON.stringify({ type: 'response.created', event_id: 'e', response }));
      ws.send(JSON.stringify({ type: 'response.done', event_id: 'e', response }));
    });
  });
  await new Promise<void>((done) => live.listen(0, '127.0.0.1', done));
  const batch = {
    id: 'batch_1',
    object: 'batch',
    status: 'in_progress',
    endpoint: '/v1/chat/completions',
    input_file_id: 'f',
    completion_window: '24h',
    created_at: 1,
  };
  const job = {
    id: 'ftjob-1',
    object: 'fine_tuning.job',
    status: 'running',
    model: 'm',
    created_at: 1,
    training_file: 'f',
  };
  const store = { id: 'vs_1', object: 'vector_store', name: 's', status: 'completed', created_at: 1 };
  files.answer = (verb, path) => {
    const one = path.includes('/batches')
      ? batch
      : path.includes('/fine_tuning')
        ? job
        : path.includes('/vector_stores')
          ? store
          : undefined;
    const lists = verb === 'GET' && /\/(?:batches|vector_stores)$/.test(path);
    return lists ? { object: 'list', data: [one], has_more: false } : one;
  };
  const says = (path: string, body: string | Buffer, type = 'application/json'): void => {
    plain.next(path, (_req, res) => void res.writeHead(200, { 'content-type': type }).end(body));
  };
  const images = JSON.stringify({ created: 1, data: [{ b64_json: 'QUE=' }] });
  says('/images/generations', images);
  says('/images/edits', images);
  says('/audio/transcriptions', JSON.stringify({ text: 'hello' }));
  says('/audio/speech', Buffer.alloc(70_000, 1), 'audio/mpeg');
  const { stdout } = await run(
    python,
    [
      resolve('test/clients/openai_media.py'),
      gateway.origin,
      WORKSPACE_KEY,
      files.origin,
      plain.origin,
      `http://127.0.0.1:${(live.address() as AddressInfo).port}`,
    ],
    { env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' } },
  );
  t.deepEqual(JSON.parse(stdout), {
    files_own: ['a.txt', true, 12, 'hello python', true],
    files_there: ['a.txt', true, 12, 'hello python', true],
    upload: ['completed', 'hello parts'],
    batch: ['in_progress', 'batch_1', 1],
    batch_cancelled: 'batch_1',
    image: 'QUE=',
    edited: 'QUE=',
    heard: 'hello',
    spoken: 70_000,
    job: ['ftjob-1', 'running', 'ftjob-1'],
    store: ['vs_1', 's', 'vs_1'],
    realtime: ['session.created', 'response.created', 'response.done'],
  });
});
