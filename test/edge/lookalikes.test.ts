// Paths that resemble the control plane's: 404 with the nearest real path, and nothing of them reaches a provider. Every
// other path that no operation declares is passed through, and /proxy/<path> reaches any.
import test from 'ava';
import { type Bench, raw, restErrorShape, startBench } from '../contract/runner.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

async function send(path: string, method = 'POST', key: string | undefined = WORKSPACE_KEY) {
  const prefix = bench.mark();
  bench.provider.next(
    prefix + path.replace(/^\/v1(?:\/proxy)?/, '').split('?')[0]!,
    (_req, res) => void res.end('ok'),
  );
  const headers = { ...bench.headers(prefix), 'content-type': 'application/json' };
  const answer = await raw(bench.gateway.origin, {
    method,
    path,
    headers:
      key === undefined ? { ...headers, 'x-gateway-api-key': '' } : { ...headers, 'x-gateway-api-key': key },
    body: '{"key": "sk-secret"}',
  });
  return { answer, sent: bench.sentTo(prefix).map(({ url }) => url.slice(prefix.length)) };
}

const NEAREST: Readonly<Record<string, string>> = {
  '/integration': '/integrations',
  '/Integrations': '/integrations',
  '/integ%72ation': '/integrations',
  '/./integration': '/integrations',
  '/keys': '/api-keys',
  '/key': '/api-keys',
  '/api-key': '/api-keys',
  '/api_keys': '/api-keys',
  '/apikeys': '/api-keys',
  '/virtual_keys': '/virtual-keys',
  '/workspaces': '/admin/workspaces',
  '/workspace': '/admin/workspaces',
  '/workspaces/w1': '/admin/workspaces/{workspace_id}',
  '/workspaces/w1/members': '/admin/workspaces/{workspace_id}/members',
  '/users': '/admin/users',
  '/config': '/configs',
  '/config/pc-1': '/configs/{slug}',
  '/log': '/logs',
  '/log/1': '/logs/{log_id}',
  '/guardrail': '/guardrails',
  '/prompt': '/prompts',
  '/label': '/labels',
  '/secret_reference': '/secret-references',
  '/rate-limit': '/policies/rate-limits',
  '/audit_log': '/audit-logs',
  '/integrations/x/modelz': '/integrations/{slug}/models',
  '/integrations/x/models/y/z': '/integrations/{slug}/models',
  '/admin/workspace': '/admin/workspaces',
  '/admin': '/admin/users',
  '/policies': '/policies/rate-limits',
  '/analytics/graphs/costs': '/analytics/graphs/cost',
};

test('a lookalike is 404 with the nearest path, with whichever key', async (t) => {
  for (const [path, nearest] of Object.entries(NEAREST)) {
    for (const key of [WORKSPACE_KEY, ADMIN_KEY, undefined]) {
      const { answer, sent } = await send(`/v1${path}`, 'POST', key);
      t.is(answer.status, 404, path);
      restErrorShape(t, answer.json, true);
      const { message, code } = answer.json.error as Record<string, string>;
      t.is(code, 'route_unknown');
      if (path !== '/admin' && path !== '/policies')
        t.true(message!.includes(`the nearest is ${nearest}.`), `${path}: ${message}`);
      t.true(message!.includes(`/proxy${path}`), message);
      t.deepEqual(sent, [], path);
    }
  }
});

test('every verb of a lookalike is 404', async (t) => {
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
    const { answer, sent } = await send('/v1/integration', method);
    t.is(answer.status, 404, method);
    t.deepEqual(sent, []);
  }
});

test('every other path passes, and /proxy/<path> reaches any', async (t) => {
  for (const path of [
    '/things',
    '/model/anthropic.claude/count-tokens',
    '/models/gemini-3:predict',
    '/organization/users',
    '/openai/deployments/x/chat/completions',
    '/api/keys',
    '/keysmith',
    '/logins',
    '/configure',
  ]) {
    const { answer, sent } = await send(`/v1${path}`);
    t.is(answer.status, 200, path);
    t.deepEqual(sent, [path]);
  }
  for (const path of ['/integration', '/keys', '/integrations', '/workspaces/x', '/chat/completions']) {
    const { answer, sent } = await send(`/v1/proxy${path}`);
    t.is(answer.status, 200, path);
    t.deepEqual(sent, [path]);
  }
});

test('two slashes within a path stay two', async (t) => {
  for (const path of [
    '/a//b',
    '/a///b//',
    '/files//x?y=//z',
    '/https://example.org/x',
    '/chat//completions',
  ]) {
    const { answer, sent } = await send(`/v1${path}`);
    t.is(answer.status, 200, path);
    t.deepEqual(sent, [path]);
    const proxied = await send(`/v1/proxy${path}`);
    t.deepEqual(proxied.sent, [path]);
  }
  t.deepEqual((await send('/v1/proxy//a//b')).sent, ['//a//b']);
});
