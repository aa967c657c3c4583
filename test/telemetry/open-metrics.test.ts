// /metrics in OpenMetrics 1.0 (https://prometheus.io/docs/specs/om/open_metrics_spec/), with exemplars.
import test, { type ExecutionContext } from 'ava';
import { formatFor } from '../../src/telemetry/metrics-page.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const TOKEN = 'metrics-token-0123456789';
const ACCEPT = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const EXEMPLAR = / # \{([^}]*)\} (\S+) (\S+)$/;

let provider: FakeProvider;
test.before(async () => {
  provider = await startFakeProvider();
});
test.after.always(() => provider?.close());

async function withCalls(
  env: Readonly<Record<string, string>>,
  use: (gateway: TestGateway, requestIds: readonly string[]) => Promise<void>,
): Promise<void> {
  const gateway = await startGateway(env);
  try {
    const ids: string[] = [];
    for (const stream of [false, true]) {
      const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'x-gateway-api-key': WORKSPACE_KEY,
          'x-gateway-config': JSON.stringify({
            provider: 'openai',
            custom_host: provider.origin,
            api_key: 'sk-made-up',
          }),
          'x-gateway-trace-id': TRACE,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ model: 'gpt-4o-mini', stream, messages: [{ role: 'user', content: 'hi' }] }),
      });
      await answer.text();
      ids.push(answer.headers.get('x-gateway-request-id') ?? '');
    }
    await use(gateway, ids);
  } finally {
    await gateway.close();
  }
}

async function scrape(origin: string, headers: Record<string, string>): Promise<Response> {
  return fetch(`${origin}/metrics`, { headers });
}

/** What the specification asks of the text as a whole. */
function wellFormed(t: ExecutionContext, text: string): void {
  t.true(text.endsWith('\n# EOF\n'));
  t.notRegex(text, /\n\n/);
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]));
  for (const [name, type] of types) {
    if (type === 'counter') t.false(name.endsWith('_total'), name);
    for (const line of text
      .split('\n')
      .filter((each) => each.startsWith(`${name}{`) || each.startsWith(`${name} `)))
      t.not(type, 'counter', line);
  }
  for (const line of text.split('\n')) {
    const exemplar = EXEMPLAR.exec(line);
    if (exemplar === null) continue;
    t.regex(line, /^\w+_bucket\{/);
    const [, labels = '', value, at] = exemplar;
    t.true(labels.length <= 128);
    t.true(Number(value) <= Number(/le="([^"]+)"/.exec(line)![1]!.replace('+Inf', 'Infinity')), line);
    t.true(Math.abs(Number(at) - Date.now() / 1000) < 600, line);
  }
}

test('an operator who asks for OpenMetrics gets exemplars with the trace and the request', async (t) => {
  await withCalls({ GATEWAY_METRICS_TOKEN: TOKEN }, async ({ origin }, ids) => {
    const answer = await scrape(origin, { accept: ACCEPT, authorization: `Bearer ${TOKEN}` });
    t.is(answer.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8');
    t.is(answer.headers.get('vary'), 'accept');
    const text = await answer.text();
    wellFormed(t, text);
    const lines = text.split('\n').filter((line) => EXEMPLAR.test(line));
    t.true(lines.some((line) => line.startsWith('sluice_attempt_duration_seconds_bucket')));
    t.true(lines.some((line) => line.startsWith('sluice_time_to_first_token_seconds_bucket')));
    for (const line of lines) {
      t.true(line.includes(`trace_id="${TRACE}"`), line);
      t.true(
        ids.some((id) => line.includes(`request_id="${id}"`)),
        line,
      );
    }
    t.regex(text, /^sluice_cost_usd_total\{/m);
  });
});

test('a page that anybody reads has exemplars without the caller’s trace id', async (t) => {
  await withCalls({}, async ({ origin }, ids) => {
    const text = await (await scrape(origin, { accept: 'application/openmetrics-text' })).text();
    wellFormed(t, text);
    t.true(ids.some((id) => text.includes(`# {request_id="${id}"}`)));
    t.false(text.includes(TRACE));
  });
});

test('without asking for it there is no exemplar', async (t) => {
  await withCalls({}, async ({ origin }) => {
    for (const accept of ['*/*', 'text/plain', 'application/openmetrics-text;q=0']) {
      const answer = await scrape(origin, { accept });
      t.regex(answer.headers.get('content-type') ?? '', /^text\/plain/);
      t.notRegex(await answer.text(), / # \{|# EOF/);
    }
  });
});

test('the format is read off the header', (t) => {
  t.is(formatFor(undefined), 'prometheus');
  t.is(formatFor(''), 'prometheus');
  t.is(formatFor(ACCEPT), 'openmetrics');
  t.is(formatFor('Application/OpenMetrics-Text; version=0.0.1'), 'openmetrics');
  t.is(formatFor('text/plain, application/openmetrics-text; q=0.000'), 'prometheus');
});
