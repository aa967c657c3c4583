// Telemetry that is not configured: no library is loaded, no header is added, and a caller's trace is the call's all the same.
import { registerHooks } from 'node:module';
import test from 'ava';
import { startFakeProvider } from '../support/fake-provider.ts';

const loaded: string[] = [];
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    loaded.push(found.url);
    return found;
  },
});
const { startGateway, WORKSPACE_KEY } = await import('../support/gateway.ts');

const TRACE = '0af7651916cd43dd8448eb211c80319c';

test('nothing is loaded, and providers are told nothing', async (t) => {
  const provider = await startFakeProvider();
  const gateway = await startGateway({ OTEL_SERVICE_NAME: 'quiet' });
  const headers = {
    'x-gateway-api-key': WORKSPACE_KEY,
    'content-type': 'application/json',
    'x-gateway-config': JSON.stringify({ provider: 'openai', custom_host: provider.origin, api_key: 'k' }),
    traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
    baggage: 'a=b',
  };
  const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'x' }] });
  const send = async (path: string): Promise<Response> => {
    const answer = await fetch(gateway.origin + path, { method: 'POST', headers, body });
    await answer.text();
    return answer;
  };
  const answer = await send('/v1/chat/completions');
  t.is(answer.status, 200);
  t.is(answer.headers.get('x-gateway-trace-id'), TRACE);
  t.is(provider.seen[0]?.headers.traceparent, undefined);
  t.is(provider.seen[0]?.headers.baggage, undefined);
  // What is passed through is the caller's own request.
  await send('/v1/proxy/chat/completions');
  t.is(provider.seen[1]?.headers.traceparent, headers.traceparent);
  t.true(loaded.some((url) => url.endsWith('/src/app/telemetry.ts')));
  t.deepEqual(
    loaded.filter((url) =>
      /@opentelemetry\/(?!api\/)|src\/telemetry\/(?:open|spans|exporters)\.ts/.test(url),
    ),
    [],
  );
  const text = await (await fetch(`${gateway.origin}/metrics`)).text();
  t.notRegex(text, /sluice_spans_/);
  await gateway.close();
  await provider.close();
});
