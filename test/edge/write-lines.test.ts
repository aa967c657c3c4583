// Lines of JSON: whole, slow readers, and what breaks off.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { create } from '@bufbuild/protobuf';
import test from 'ava';
import { type AuditLogTarget, AuditLogTargetSchema } from '../../gen/gateway/admin/v2/audit_logs_pb.ts';
import { writeLines } from '../../src/edge/write-lines.ts';

/** A server that answers every request with these messages. */
async function serving(
  messages: () => AsyncIterable<AuditLogTarget>,
): Promise<{ url: string; server: Server }> {
  const server = createServer((_, res) => {
    void writeLines(res, AuditLogTargetSchema, messages(), [['x-gateway-request-id', 'r1']]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server };
}

const target = (id: string): AuditLogTarget => create(AuditLogTargetSchema, { id, name: 'a\nb' });

test('a line each, with the answer’s headers', async (t) => {
  const { url, server } = await serving(async function* () {
    yield target('1');
    yield target('2');
  });
  const response = await fetch(url);
  t.is(response.headers.get('content-type'), 'application/jsonl; charset=utf-8');
  t.is(response.headers.get('x-gateway-request-id'), 'r1');
  t.is(await response.text(), '{"id":"1","name":"a\\nb"}\n{"id":"2","name":"a\\nb"}\n');
  server.close();
});

test('nothing is an empty body', async (t) => {
  const { url, server } = await serving(async function* () {});
  t.is(await (await fetch(url)).text(), '');
  server.close();
});

test('what breaks off is not taken for whole', async (t) => {
  const { url, server } = await serving(async function* () {
    for (let i = 0; i < 5000; i++) yield target('x'.repeat(50));
    throw new Error('the store is gone');
  });
  const response = await fetch(url);
  await t.throwsAsync(response.text());
  server.close();
});

test('a reader that is slow holds the messages back, and one that leaves ends them', async (t) => {
  let made = 0;
  let ended = false;
  const { url, server } = await serving(async function* () {
    try {
      for (; ; made++) yield target('x'.repeat(1000));
    } finally {
      ended = true;
    }
  });
  const reading = new AbortController();
  const response = await fetch(url, { signal: reading.signal });
  await new Promise((resolve) => setTimeout(resolve, 200));
  const before = made;
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.is(made, before, 'held back');
  reading.abort();
  await t.throwsAsync(response.text());
  for (let i = 0; i < 100 && !ended; i++) await new Promise((resolve) => setTimeout(resolve, 20));
  t.true(ended);
  server.close();
});
