// Refusals of what is passed through below Messages, and to callers that name Anthropic's version, have Anthropic's form: its
// SDK reads their type and message. All others have OpenAI's.
import Anthropic from '@anthropic-ai/sdk';
import test from 'ava';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

type Json = Record<string, unknown>;

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.close());

async function refused(path: string, headers: Record<string, string>, method = 'POST'): Promise<Json> {
  const answer = await fetch(`${gateway.origin}/v1${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(method === 'GET' ? {} : { body: '{}' }),
  });
  return { status: answer.status, ...((await answer.json()) as Json) };
}

const key = { 'x-gateway-api-key': WORKSPACE_KEY };
const unknown = { ...key, 'x-gateway-provider': 'nobody' };
const version = { 'anthropic-version': '2023-06-01' };

for (const [name, path, headers, method, status] of [
  ['a key that is not known', '/messages/batches', { 'x-gateway-api-key': 'slk_nobody' }, 'POST', 401],
  ['no key', '/messages/batches/b/results', {}, 'GET', 401],
  ['a provider that is not known', '/messages/batches', unknown, 'POST', 400],
  ['a provider that is not known, by /proxy', '/proxy/messages/batches', unknown, 'POST', 400],
  ['a verb', '/messages/batches/b', key, 'PATCH', 405],
  ['a file of Anthropic’s', '/files', { ...unknown, ...version }, 'GET', 400],
  ['a skill', '/skills', { ...unknown, ...version }, 'GET', 400],
] as const)
  test(`${name}: Anthropic’s form at ${path}`, async (t) => {
    const answer = await refused(path, headers as Record<string, string>, method);
    t.is(answer.status, status);
    t.is(answer.type, 'error');
    const error = answer.error as Json;
    t.is(typeof error.type, 'string');
    t.is(typeof error.message, 'string');
  });

test('others have OpenAI’s', async (t) => {
  const answer = await refused('/skills', unknown);
  t.like(answer, { status: 'failure', error: { param: 'x-gateway-provider' } });
});

test('the official client reads the refusal of a batch', async (t) => {
  const client = new Anthropic({ baseURL: gateway.origin, apiKey: 'slk_nobody', maxRetries: 0 });
  const error = await t.throwsAsync(client.messages.batches.list(), {
    instanceOf: Anthropic.AuthenticationError,
  });
  t.like(error?.error, { type: 'error', error: { type: 'authentication_error' } });
});
