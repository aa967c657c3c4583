// Bodies of calls, through the front door and in the keeper itself.
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { AssembledChoices } from '../../src/inference/pipeline/pieces/assembled-choices.ts';
import { BodyLog } from '../../src/ledger/bodies.ts';
import { loggedBody, loggedHeaders, loggedUrl } from '../../src/ledger/logged-message.ts';
import { maskedRecord } from '../../src/ledger/masked-record.ts';
import { withoutBegun } from '../../src/ledger/masked-text.ts';
import { atOnce } from '../../src/lib/tool-secrets.ts';
import type { BodiesRecord } from '../../src/store/log-store.ts';
import { logEntry } from '../store/log-entries.ts';

const NOTHING = {
  request: undefined,
  response: undefined,
  sent: undefined,
  received: undefined,
  hooks: undefined,
  targets: [],
  secrets: () => [],
  passing: {},
};

test('headers that may hold a secret are named and masked, ours and well-known ones are kept', (t) => {
  const headers = loggedHeaders([
    ...['Authorization', 'Bearer sk-secret', 'X-Gateway-Api-Key', 'slk_secret'],
    ...['x-gateway-config', '{"api_key":"sk-secret"}', 'x-gateway-provider', 'openai'],
    ...['Cookie', 'session=secret', 'content-type', 'application/json', 'x-custom', 'anything'],
    ...['x-gateway-vertex-service-account-json', '{"private_key":"secret"}'],
  ]);
  t.deepEqual(headers, {
    authorization: '***',
    'x-gateway-api-key': '***',
    'x-gateway-config': '***',
    'x-gateway-provider': 'openai',
    cookie: '***',
    'content-type': 'application/json',
    'x-custom': '***',
    'x-gateway-vertex-service-account-json': '***',
  });
});

test('keys in an address are masked, and nothing else in it', (t) => {
  t.is(
    loggedUrl('https://host/v1/x?key=secret&alt=sse&api-key=y'),
    'https://host/v1/x?key=***&alt=sse&api-key=***',
  );
  t.is(loggedUrl('/v1/chat/completions'), '/v1/chat/completions');
  t.is(loggedUrl('/v1/x?a?b&token=c#key=d&e'), '/v1/x?a?b&token=***#key=***&e');
  const signs = `/v1/x${'?'.repeat(60_000)}`;
  t.is(loggedUrl(signs), signs);
});

test('a text is cut between characters, what is no text is kept in base64', (t) => {
  const long = Buffer.from(`a${'ü'.repeat(600_000)}`);
  const kept = loggedBody(long);
  t.is(Buffer.byteLength(kept.body ?? '') + (kept.truncated ?? 0), long.length);
  t.false(kept.body?.includes('\ufffd'));
  const binary = loggedBody(Buffer.from([0xff, 0xfe, 0x00]));
  t.deepEqual(binary, { body: Buffer.from([0xff, 0xfe, 0x00]).toString('base64'), base64: true });
  t.deepEqual(loggedBody(undefined), {});
});

test('secrets of a call are masked wherever they are, also one that was cut', (t) => {
  const record = {
    ...logEntry({ id: 'a' }),
    request: { body: JSON.stringify({ tools: [{ token: 'tool-secret-1' }], user: 'own-secret-1' }) },
    response: { body: `${'own-secret-2'.repeat(2)} tool-secret-1 and own-own-secr`, truncated: 9 },
    hooks: '"tool-secret-1"',
  } as unknown as BodiesRecord;
  const clean = (own: readonly string[]) => atOnce(maskedRecord(record, own));
  const { request, response, hooks } = clean(['own-secret-1', 'own-secret-2']);
  t.is(request.body, '{"tools":[{"token":"***"}],"user":"***"}');
  t.is(response.body, '****** *** and own-***');
  t.is(hooks, '"***"');
  const long = `${'a'.repeat(200_000)}b`;
  t.is(withoutBegun(`b${'a'.repeat(100_000)}`, [long]), 'b***');
  t.is(withoutBegun('x abcabcabcabca', ['abcabcabcabd']), 'x abc***');
});

test('of a request with too many credentials of tools, no text is kept', (t) => {
  const servers = Array.from({ length: 300 }, (_, i) => ({ token: `credential-${i}` }));
  const record = {
    ...logEntry({ id: 'a' }),
    request: { url: '/x', body: JSON.stringify({ mcp_servers: servers }) },
    response: { status: 200, body: 'credential-7' },
    hooks: '"credential-7"',
  } as unknown as BodiesRecord;
  const { request, response, hooks } = atOnce(maskedRecord(record, []));
  t.deepEqual(
    [request, response, hooks],
    [{ url: '/x', body: '***' }, { status: 200, body: '***' }, undefined],
  );
});

test('what is beyond the bound is left out, counted, and never stops the rest', async (t) => {
  const stored: BodiesRecord[] = [];
  const log = new BodyLog({
    store: { appendBodies: async (batch) => void stored.push(...batch) },
    maxBuffered: 10_000,
    onTrouble: () => t.fail(),
  });
  const body = Buffer.alloc(8000, 'x');
  const said = { ...NOTHING, sent: { body }, request: () => body };
  t.true(log.take(logEntry({ id: 'a' }), said, {}));
  t.false(log.take(logEntry({ id: 'b' }), said, {}));
  t.is(log.dropped(), 1);
  await log.flush();
  t.true(log.take(logEntry({ id: 'c' }), said, {}));
  await log.close();
  t.deepEqual(
    stored.map(({ id }) => id),
    ['a', 'c'],
  );
  t.is(stored[0]?.request.body, body.toString());
  t.is(stored[0]?.transformedRequest?.body, undefined, 'what went on as it came is written once');
});

test('a store that refuses costs the bodies, not the keeper', async (t) => {
  let fails = true;
  const troubles: number[] = [];
  const log = new BodyLog({
    store: { appendBodies: async () => (fails ? Promise.reject(new Error('away')) : undefined) },
    onTrouble: (_, count) => troubles.push(count),
  });
  log.take(logEntry({ id: 'a' }), NOTHING, {});
  await log.flush();
  fails = false;
  log.take(logEntry({ id: 'b' }), NOTHING, {});
  await log.close();
  t.deepEqual(troubles, [1]);
  t.is(log.dropped(), 1);
});

test('who waits for what was taken so far does not wait for what comes behind', async (t) => {
  let calls = 0;
  const log: BodyLog = new BodyLog({
    store: {
      appendBodies: async () => {
        await sleep(1);
        // Calls go on all the time.
        if (++calls < 1000) log.take(logEntry({ id: `n${calls}` }), NOTHING, {});
      },
    },
    onTrouble: () => t.fail(),
  });
  log.take(logEntry({ id: 'a' }), NOTHING, {});
  await log.flush();
  t.true(calls < 10, `${calls}`);
  calls = 1000;
  await log.close();
});

test('what cannot be written is left out, and stands in nobody’s way', async (t) => {
  const stored: BodiesRecord[] = [];
  const troubles: number[] = [];
  const log = new BodyLog({
    store: { appendBodies: async (batch) => void stored.push(...batch) },
    onTrouble: (_, count) => troubles.push(count),
  });
  const bad = (): string => {
    throw new RangeError('Maximum call stack size exceeded');
  };
  log.take(logEntry({ id: 'bad' }), { ...NOTHING, request: bad }, {});
  log.take(logEntry({ id: 'good' }), NOTHING, {});
  await log.flush();
  t.deepEqual(
    stored.map(({ id }) => id),
    ['good'],
  );
  t.deepEqual(troubles, [1]);
  t.is(log.dropped(), 1);
  await log.close();
});

test('what is kept of bodies that passed counts against the bound', async (t) => {
  const log = new BodyLog({
    store: { appendBodies: async () => {} },
    maxBuffered: 10_000,
    onTrouble: () => t.fail(),
  });
  const said = {
    ...NOTHING,
    passing: { request: { held: 4000, left: 0 }, response: { held: 4000, left: 9 } },
  };
  t.true(log.take(logEntry({ id: 'a' }), said, {}));
  t.false(log.take(logEntry({ id: 'b' }), said, {}));
  await log.close();
});

test('secrets are masked in what is no text, and where a long body was cut within one', async (t) => {
  const stored: BodiesRecord[] = [];
  const log = new BodyLog({
    store: { appendBodies: async (batch) => void stored.push(...batch) },
    onTrouble: () => t.fail(),
  });
  const secret = 'sk-a-secret-of-somebody';
  const secrets = () => [secret];
  const binary = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(secret)]);
  const long = `${'x'.repeat(1024 * 1024 - 12)}${secret}`;
  log.take(logEntry({ id: 'a' }), { ...NOTHING, secrets, request: () => binary, response: () => long }, {});
  await log.close();
  const { body = '', base64 } = stored[0]!.request;
  t.true(base64);
  t.deepEqual(Buffer.from(body, 'base64'), Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('***')]));
  t.true(stored[0]!.response.body?.endsWith('xxx***'));
});

test('everything that is held of a streamed answer is bounded, ids of tool calls too', (t) => {
  const answer = new AssembledChoices();
  for (let index = 0; index < 64; index++)
    answer.push({ choices: [{ delta: { toolCalls: [{ index, id: `${index}`.padEnd(65_536) }] } }] });
  t.true(answer.held <= 1024 * 1024 + 65_536);
  t.true(answer.json().length <= 1024 * 1024 + 70_000);
  // Pieces that repeat an id are not counted again.
  const repeating = new AssembledChoices();
  const piece = { index: 0, id: 'x'.repeat(1024), function: { arguments: '1' } };
  for (let i = 0; i < 2000; i++) repeating.push({ choices: [{ delta: { toolCalls: [piece] } }] });
  t.true(repeating.json().includes('1'.repeat(2000)));
});
