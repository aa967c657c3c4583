// Analytics by the filters of the log: every operation, on each store.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { logEntry } from '../store/log-entries.ts';
import { ok } from '../support/front-door.ts';
import { ANSWERS, HOUR, recordCalls } from './analytics-answers.ts';
import { serviceKey } from './logs-books.ts';
import { type Bench, type JsonObject, PROTOCOLS, startBench } from './runner.ts';
import { STORES } from './stores.ts';
import { Caller } from './story.ts';

/** The same an hour later. */
const later = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll('T10:', 'T11:')) as T;

/** Each means the calls of the answers and not the one beside them. */
const FILTERS: readonly JsonObject[] = [
  { ai_model: 'x,gpt-4o-mini' },
  { ai_org: 'openai' },
  { search: 'CHAT/completions' },
  { error_reason: 'rate_limited,upstream_status' },
];
/** These mean none. */
const OTHERS: readonly JsonObject[] = [
  { ai_model: 'none' },
  { ai_org: 'none' },
  { search: 'no such text' },
  { error_reason: 'rate_limite' },
];

for (const [store, env] of STORES) {
  let bench: Bench;
  test.serial.before(async () => {
    bench = await startBench({ GATEWAY_LOG_RETENTION_DAYS: '3650', ...env() });
    const { gateway } = bench;
    const { requestLog, tenancy } = gateway.app;
    recordCalls(gateway, 11);
    const traceId = randomUUID();
    requestLog.record(
      logEntry({
        ...tenancy,
        ...{ id: 'noise', traceId, createdAt: Date.parse('2026-01-31T11:01:00Z'), latencyMs: 77 },
        ...{ model: 'noise', responseModel: 'noise', provider: 'noise', path: '/v1/noise', cost: '7' },
        ...{ statusCode: 503, retries: 1, cacheStatus: 'HIT', saved: '5', metadata: { _user: 'user-1' } },
      }),
    );
    await requestLog.flush();
    const { key } = await serviceKey(gateway);
    await ok(gateway, 'POST', '/feedback', { key, body: { trace_id: traceId, value: 5 } });
  });
  test.after.always(() => bench?.close());

  for (const protocol of PROTOCOLS) {
    const admin = new Caller(() => bench, protocol);

    test.serial(`analytics by model, provider and text [${store}, ${protocol}]`, async (t) => {
      for (const [method, expected, more] of ANSWERS) {
        const asked = { ...later(HOUR), ...more };
        const all = plainOf(await admin.ok(method, asked));
        for (const filter of FILTERS) {
          const found = plainOf(await admin.ok(method, { ...asked, ...filter }));
          t.deepEqual(found, later(expected), `${method.name} ${JSON.stringify(filter)}`);
        }
        for (const filter of OTHERS) {
          const found = plainOf(await admin.ok(method, { ...asked, ...filter }));
          t.notDeepEqual(found, all, `${method.name} ${JSON.stringify(filter)}`);
        }
      }
      for (const [method, , more] of ANSWERS) {
        const short = await admin.refused(method, { ...later(HOUR), ...more, search: 'ab' });
        t.is(short.param, 'search', method.name);
      }
    });
  }
}

/** An answer but for where it was read. */
function plainOf({ source: _, ...answer }: JsonObject): JsonObject {
  return answer;
}
