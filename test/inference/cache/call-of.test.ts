// A pipeline's call at the cache: settings from plan and headers, key from the caller, report into the trail.
import test from 'ava';
import { ChatService } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { Call } from '../../../src/call/call.ts';
import type { Principal } from '../../../src/call/principal.ts';
import { type CachedAttempt, cacheCallOf } from '../../../src/inference/cache/call-of.ts';
import type { CacheSettings } from '../../../src/inference/cache/settings.ts';
import type { BoundTarget } from '../../../src/inference/plan/bind.ts';
import { GatewayHeaders, HeaderNames } from '../../../src/lib/gateway-headers.ts';
import { createDialects } from '../../../src/providers/dialects/registry.ts';
import { codec } from '../../../src/rest/codec.ts';
import { SIMPLE, subject } from './subject.ts';

const dialect = createDialects(codec).get('openai')!;
const { target } = subject({}, 'o');
const principal: Principal = {
  organisationId: 'o',
  workspaceId: 'w',
  keyId: 'k',
  keyName: 'k',
  kind: 'workspace-service',
  scopes: new Set(),
};

function attempt(
  cache: CacheSettings | undefined,
  raw: Record<string, string> = {},
  more: Partial<CachedAttempt> = {},
) {
  const call = new Call(ChatService.method.createChatCompletion, {
    protocol: 'rest',
    headers: new GatewayHeaders(new HeaderNames(['x-gateway-']), raw),
    httpMethod: 'POST',
    path: '/v1/chat/completions',
    remote: '',
  });
  call.principal = principal;
  call.record.metadata = { a: '1' };
  const bound = {
    plan: { cache },
    target,
    forwarded: ['x-team', 't'],
    model: undefined,
  } as unknown as BoundTarget;
  const at = cacheCallOf(call, {
    bound,
    dialect,
    operation: 'chat',
    wire: 'chat',
    outbound: () => ({
      method: 'POST',
      path: '/chat/completions',
      headers: ['content-type', 'application/json'],
      body: '{}',
    }),
    model: 'm',
    signal: call.signal,
    ...more,
  });
  return { call, at };
}

test('settings come from the plan and the headers; some operations and callers have none', (t) => {
  t.is(attempt(undefined).at.settings, undefined);
  t.is(attempt(SIMPLE).at.settings, SIMPLE);
  t.true(attempt(SIMPLE, { 'x-gateway-cache-force-refresh': 'true' }).at.settings?.forceRefresh);
  t.is(attempt(SIMPLE, { 'x-gateway-debug': 'false' }).at.settings, undefined);
  t.is(attempt(SIMPLE, {}, { operation: 'models' }).at.settings, undefined);
  t.truthy(attempt(SIMPLE, {}, { operation: 'embeddings' }).at.settings);
});

test('the key is made of the caller, the target and what is sent', async (t) => {
  t.like(await attempt(SIMPLE).at.subject(), {
    organisationId: 'o',
    workspaceId: 'w',
    operation: 'chat',
    model: 'm',
    metadata: { a: '1' },
    target,
    request: {
      method: 'POST',
      origin: 'https://api.openai.com',
      path: '/v1/chat/completions',
      headers: ['x-team', 't', 'content-type', 'application/json'],
      body: '{}',
    },
  });
});

test('reports go into the trail and the headers', (t) => {
  const { call, at } = attempt(SIMPLE);
  at.note({ status: 'HIT', note: { model: 'm-1' } });
  t.is(call.record.cacheStatus, 'HIT');
  t.is(call.record.responseModel, 'm-1');
  t.deepEqual(at.answerNote?.(), { model: 'm-1' });
  t.is(call.answerHeaders.size, 0);
  const record = { form: 'whole', note: {}, body: Buffer.from('{"a":1}') } as const;
  const report = {
    status: 'MISS',
    key: 'k',
    shadow: { key: 's', similarity: 0.97, ageMs: 1500, record },
  } as const;
  at.note(report);
  t.is(call.answerHeaders.get('x-gateway-cache-shadow'), 'hit; similarity=0.9700; age=1');
});
