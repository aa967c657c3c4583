// Who may read GET /metrics: anybody what says nothing of money, operators with the token or on the port of its own all.
import test from 'ava';
import { readSettings, SettingsError } from '../../src/settings.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const TOKEN = 'metrics-token-0123456789';

async function page(
  origin: string,
  authorization?: string,
  path = '/metrics',
): Promise<{ readonly status: number; readonly challenge: string | null; readonly text: string }> {
  const answer = await fetch(
    origin + path,
    authorization === undefined ? {} : { headers: { authorization } },
  );
  return {
    status: answer.status,
    challenge: answer.headers.get('www-authenticate'),
    text: await answer.text(),
  };
}

async function withGateway(
  env: Readonly<Record<string, string>>,
  use: (gateway: TestGateway) => Promise<void>,
): Promise<void> {
  const gateway = await startGateway(env);
  try {
    await use(gateway);
  } finally {
    await gateway.close();
  }
}

test('without a token anybody reads a page without what calls cost', async (t) => {
  await withGateway({}, async ({ origin }) => {
    for (const authorization of [undefined, `Bearer ${TOKEN}`, `Bearer ${WORKSPACE_KEY}`]) {
      const { status, text } = await page(origin, authorization);
      t.is(status, 200);
      t.regex(text, /sluice_calls_in_flight/);
      t.notRegex(text, /cost|unpriced/);
    }
  });
});

test('with a token the page asks for it, and shows all', async (t) => {
  await withGateway({ GATEWAY_METRICS_TOKEN: TOKEN }, async ({ origin }) => {
    for (const wrong of [
      undefined,
      TOKEN,
      `Bearer ${TOKEN}x`,
      `Bearer ${WORKSPACE_KEY}`,
      'Bearer',
      `Basic ${TOKEN}`,
    ]) {
      const { status, challenge, text } = await page(origin, wrong);
      t.is(status, 401, String(wrong));
      t.is(challenge, 'Bearer');
      t.notRegex(text, /sluice_/);
    }
    const { status, text } = await page(origin, `bearer ${TOKEN}`);
    t.is(status, 200);
    t.regex(text, /# TYPE sluice_cost_usd_total counter/);
  });
});

test('a port of its own serves metrics and nothing else, and the gateway’s none', async (t) => {
  await withGateway({ GATEWAY_METRICS_PORT: '0' }, async ({ origin, app }) => {
    const own = `http://127.0.0.1:${app.metricsAddress?.port}`;
    t.is((await page(origin)).status, 404);
    const { status, text } = await page(own);
    t.is(status, 200);
    t.regex(text, /# TYPE sluice_cost_usd_total counter/);
    t.is((await page(own, undefined, '/healthz')).status, 404);
    t.is((await page(own, undefined, '/v1/models')).status, 404);
    const posted = await fetch(`${own}/metrics`, { method: 'POST', body: 'x' });
    t.is(posted.status, 405);
    t.is(posted.headers.get('allow'), 'GET, HEAD');
  });
  await withGateway({ GATEWAY_METRICS_PORT: '0', GATEWAY_METRICS_TOKEN: TOKEN }, async ({ app }) => {
    const own = `http://127.0.0.1:${app.metricsAddress?.port}`;
    t.is((await page(own)).status, 401);
    t.is((await page(own, `Bearer ${TOKEN}`)).status, 200);
  });
});

test('settings that cannot be used are named', (t) => {
  for (const env of [
    { GATEWAY_METRICS_TOKEN: 'short' },
    { GATEWAY_METRICS_PORT: '70000' },
    { GATEWAY_METRICS_PORT: '8787' },
  ]) {
    const error = t.throws(() => readSettings(env), { instanceOf: SettingsError });
    t.regex(error?.message ?? '', new RegExp(`^${Object.keys(env)[0]}:`));
  }
});
