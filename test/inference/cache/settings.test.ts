// The config's cache member and the headers beside it.
import test from 'ava';
import { withCacheHeaders } from '../../../src/inference/cache/headers.ts';
import {
  type CacheFault,
  type CacheSettings,
  parseCacheSettings,
} from '../../../src/inference/cache/settings.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { GatewayHeaders, HeaderNames } from '../../../src/lib/gateway-headers.ts';
import { SIMPLE } from './subject.ts';

function parse(value: unknown): { settings: CacheSettings | undefined; faults: CacheFault[] } {
  const faults: CacheFault[] = [];
  return { settings: parseCacheSettings(value, 'targets[0].cache', faults), faults };
}

test('both spellings, the string form, and defaults', (t) => {
  const week = { ...SIMPLE, maxAgeSeconds: 604_800 };
  t.deepEqual(parse('simple'), { settings: week, faults: [] });
  t.deepEqual(parse('semantic').settings, { ...week, mode: 'semantic' });
  t.deepEqual(parse({ mode: 'simple' }).settings, week);
  t.deepEqual(parse({ mode: 'simple', max_age: 60 }).settings, SIMPLE);
  t.deepEqual(parse({ mode: 'simple', maxAge: 60, shadow: null }).settings, SIMPLE);
  const embeddings = { provider: 'openai', override_params: { model: 'm' } };
  t.deepEqual(
    parse({ mode: 'semantic', threshold: 0.9, embeddings, shadow: true, namespace: 'n', force_refresh: true })
      .settings,
    {
      ...week,
      mode: 'semantic',
      threshold: 0.9,
      embeddings,
      shadow: true,
      namespace: 'n',
      forceRefresh: true,
    },
  );
});

for (const [value, path, message] of [
  [1, '', /object/],
  [[], '', /object/],
  ['Simple', '', /"simple" or "semantic"/],
  [{}, '.mode', /required/],
  [{ mode: 'exact' }, '.mode', /must be/],
  [{ mode: 'simple', max_age: 0 }, '.max_age', /seconds, 1 to 7776000/],
  [{ mode: 'simple', maxAge: 86_400_000 }, '.maxAge', /seconds/],
  [{ mode: 'simple', max_age: '60' }, '.max_age', /seconds/],
  [{ mode: 'simple', max_age: 1, maxAge: 1 }, '.maxAge', /twice/],
  [{ mode: 'simple', ttl: 1 }, '.ttl', /not known/],
  [{ mode: 'semantic', threshold: 0 }, '.threshold', /above 0/],
  [{ mode: 'semantic', threshold: Number.NaN }, '.threshold', /above 0/],
  [{ mode: 'semantic', embeddings: 'openai' }, '.embeddings', /object/],
  [{ mode: 'simple', shadow: 'yes' }, '.shadow', /true or false/],
  [{ mode: 'simple', namespace: '' }, '.namespace', /empty/],
  [{ mode: 'simple', namespace: 'x'.repeat(257) }, '.namespace', /256/],
] as const) {
  test(`refused: ${JSON.stringify(value).slice(0, 60)} ${path}`, (t) => {
    const { settings, faults } = parse(value);
    t.is(settings, undefined);
    t.is(faults.length, 1);
    t.is(faults[0]?.path, `targets[0].cache${path}`);
    t.regex(faults[0]?.message ?? '', message);
  });
}

test('every fault is told at once, and the reader of embeddings tells its own', (t) => {
  const faults: CacheFault[] = [];
  const settings = parseCacheSettings(
    { mode: 'x', max_age: -1, embeddings: {} },
    'cache',
    faults,
    (_, path) => {
      faults.push({ path: `${path}.provider`, message: 'is required' });
      return undefined;
    },
  );
  t.is(settings, undefined);
  t.deepEqual(
    faults.map(({ path }) => path),
    ['cache.mode', 'cache.max_age', 'cache.embeddings.provider'],
  );
});

function headers(raw: Record<string, string>): GatewayHeaders {
  return new GatewayHeaders(new HeaderNames(['x-gateway-', 'x-alias-']), raw);
}

test('headers refresh when they say true, name a namespace, and make an answer younger', (t) => {
  const from = (raw: Record<string, string>) => withCacheHeaders(SIMPLE, headers(raw));
  t.is(from({}), SIMPLE);
  t.is(from({ 'x-gateway-cache-force-refresh': 'false' }), SIMPLE);
  t.is(from({ 'cache-control': 'no-cache' }), SIMPLE);
  t.deepEqual(from({ 'x-gateway-cache-force-refresh': 'True' }), { ...SIMPLE, forceRefresh: true });
  t.deepEqual(from({ 'x-alias-cache-namespace': 'n' }), { ...SIMPLE, namespace: 'n' });
  t.deepEqual(from({ 'cache-control': 'private, max-age=5' }), { ...SIMPLE, maxAgeSeconds: 5 });
  t.deepEqual(from({ 'cache-control': 'max-age=999999' }), SIMPLE);
  t.deepEqual(from({ 'cache-control': 'max-age=0' }), { ...SIMPLE, forceRefresh: true });
  t.is(from({ 'cache-control': 'no-store' }), undefined);
  t.is(from({ 'x-gateway-debug': 'false' }), undefined);
  t.is(withCacheHeaders(undefined, headers({ 'x-gateway-cache-force-refresh': 'true' })), undefined);
  const error = t.throws(() => from({ 'x-gateway-cache-namespace': 'x'.repeat(300) }), {
    instanceOf: GatewayError,
  });
  t.is(error?.details.param, 'x-gateway-cache-namespace');
  t.is(error?.status, 400);
});
