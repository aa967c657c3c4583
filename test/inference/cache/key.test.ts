// Keys: whatever changes an answer changes its key, and nothing else does.
import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import fc from 'fast-check';
import { canonicalJson, canonicalJsonInTurns } from '../../../src/inference/cache/canonical-json.ts';
import { type CacheSubject, cacheKey } from '../../../src/inference/cache/key.ts';
import { providerById } from '../../../src/providers/catalog/registry.ts';
import { subject } from './subject.ts';

const BODY = {
  model: 'm',
  messages: [{ role: 'user', content: 'Hi' }],
  temperature: 0.5,
  tools: [{ a: { b: 1, c: 2 } }],
};
const BASE = subject(BODY, 'org', { metadata: { a: '1' } });
const keyOf = (about: CacheSubject, namespace?: string, secret?: Uint8Array): Promise<string> =>
  cacheKey(about, namespace, secret);
const withRequest = (request: Partial<CacheSubject['request']>): CacheSubject => ({
  ...BASE,
  request: { ...BASE.request, ...request },
});
const withTarget = (target: Partial<CacheSubject['target']>): CacheSubject => ({
  ...BASE,
  target: { ...BASE.target, ...target },
});
const withBody = (body: unknown): CacheSubject => withRequest({ body: JSON.stringify(body) });

const DIFFERENT: readonly (readonly [string, CacheSubject])[] = [
  ['organisation', { ...BASE, organisationId: 'other' }],
  ['workspace', { ...BASE, workspaceId: 'other' }],
  ['no workspace', { ...BASE, workspaceId: undefined }],
  ['metadata', { ...BASE, metadata: { a: '2' } }],
  ['no metadata', { ...BASE, metadata: {} }],
  ['operation', { ...BASE, operation: 'completions' }],
  ['model', { ...BASE, model: 'other' }],
  ['provider', withTarget({ provider: providerById('groq')! })],
  ['dialect', withTarget({ provider: { ...providerById('openai')!, dialect: 'other' } })],
  ['credential', withTarget({ apiKey: 'sk-other' })],
  ['no credential', withTarget({ apiKey: undefined })],
  ['option', withTarget({ options: { openai_project: 'p' } })],
  ['strictness', withTarget({ strict: false })],
  ['origin', withRequest({ origin: 'http://api.openai.com' })],
  ['path', withRequest({ path: '/v2/chat/completions' })],
  ['query', withRequest({ path: '/v1/chat/completions?api-version=1' })],
  ['header', withRequest({ headers: [...BASE.request.headers, 'openai-beta', 'x'] })],
  ['no body', withRequest({ body: undefined })],
  ['temperature', withBody({ ...BODY, temperature: 0.6 })],
  ['no temperature', withBody({ ...BODY, temperature: undefined })],
  ['null', withBody({ ...BODY, temperature: null })],
  ['text', withBody({ ...BODY, messages: [{ role: 'user', content: 'hi' }] })],
  ['order of items', withBody({ ...BODY, stop: ['a', 'b'] })],
  ['other order of items', withBody({ ...BODY, stop: ['b', 'a'] })],
  ['seed', withRequest({ body: JSON.stringify(BODY).replace('0.5', '9007199254740993') })],
  ['seed of the same double', withRequest({ body: JSON.stringify(BODY).replace('0.5', '9007199254740992') })],
  ['bytes', withRequest({ body: Buffer.from([34, 0xc3, 34]) })],
  ['other bytes', withRequest({ body: Buffer.from([34, 0xc4, 34]) })],
];

test('whatever changes an answer, or whose it is, gives another key', async (t) => {
  const keys = new Map([[await keyOf(BASE), 'base']]);
  for (const [name, about] of DIFFERENT) {
    const key = await keyOf(about);
    t.regex(key, /^[0-9a-f]{64}$/);
    t.is(keys.get(key), undefined, `${name} has the key of ${keys.get(key)}`);
    keys.set(key, name);
  }
  for (const [name, key] of [
    ['namespace', await keyOf(BASE, 'n')],
    ['other namespace', await keyOf(BASE, 'm')],
    ['secret', await keyOf(BASE, undefined, Buffer.alloc(32, 1))],
    ['other secret', await keyOf(BASE, undefined, Buffer.alloc(32, 2))],
  ] as const) {
    t.is(keys.get(key), undefined, name);
    keys.set(key, name);
  }
});

test('what changes no answer leaves the key as it is', async (t) => {
  const key = await keyOf(BASE);
  t.is(await keyOf(withBody({ ...BODY, stream: true, stream_options: { include_usage: true } })), key);
  t.is(await keyOf(withBody({ ...BODY, stream: false })), key);
  t.is(await keyOf(withRequest({ body: Buffer.from(JSON.stringify(BODY, null, 2)) })), key);
  t.is(
    await keyOf(
      withRequest({ body: JSON.stringify(BODY).replace('0.5', '5e-1').replace('"Hi"', '"\\u0048i"') }),
    ),
    key,
  );
  t.is(
    await keyOf(
      withRequest({
        headers: ['Content-Type', 'application/json', 'traceparent', '00-1', 'X-Request-Id', '7'],
      }),
    ),
    key,
  );
  t.is(
    await keyOf({ ...BASE, metadata: { a: '2' } }, 'n'),
    await keyOf(BASE, 'n'),
    'a namespace takes the place of metadata',
  );
});

/** JSON values with numbers that survive a double. */
const json = fc.jsonValue({ maxDepth: 5 });

function shuffled(value: unknown, random: () => number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, random));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(
    ([name, member]) => [random(), name, shuffled(member, random)] as const,
  );
  // Integer-like names stand first whatever one does: those are written in the order of the engine.
  return Object.fromEntries(members.sort(([a], [b]) => a - b).map(([, name, member]) => [name, member]));
}

test('re-ordered members and other white space are the same text; other values are not', (t) => {
  fc.assert(
    fc.property(
      json,
      json,
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      fc.integer({ min: 0, max: 4 }),
      (a, b, stream, indent) => {
        const random = (): number => stream.next().value as number;
        const canonical = canonicalJson(JSON.stringify(a));
        t.is(canonicalJson(JSON.stringify(shuffled(a, random), null, indent)), canonical);
        t.deepEqual(JSON.parse(canonical!), JSON.parse(JSON.stringify(a)));
        t.is(canonical === canonicalJson(JSON.stringify(b)), isSame(a, b));
      },
    ),
    { numRuns: 500 },
  );
});

function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => isSame(item, b[i]));
  if (
    typeof a !== 'object' ||
    typeof b !== 'object' ||
    a === null ||
    b === null ||
    Array.isArray(a) ||
    Array.isArray(b)
  )
    return a === b;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every(
      (name) =>
        Object.hasOwn(b, name) &&
        isSame((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]),
    )
  );
}

test('numbers are not rounded, strings are spelled one way, what is no JSON is none', (t) => {
  for (const [text, canonical] of [
    ['1.0', '1'],
    ['-0', '0'],
    ['1e2', '100'],
    ['1e400', '1e400'],
    ['1e-400', '1e-400'],
    ['9007199254740993', '9007199254740993'],
    ['0.1234567890123456789', '0.1234567890123456789'],
    ['"\\/\\u00e9\\"\\\\"', '"/é\\"\\\\"'],
    [' { "b" : [ ] , "a" : { } } ', '{"a":{},"b":[]}'],
    ['{"a":1,"a":2}', '{"a":1,"a":2}'],
    ['{"a":2,"a":1}', '{"a":2,"a":1}'],
    ['', undefined],
    ['{', undefined],
    ['{"a"}', undefined],
    ['[1,]', undefined],
    ['"a', undefined],
    ['1 2', undefined],
    ['nul', undefined],
    ["{'a':1}", undefined],
  ] as const)
    t.is(canonicalJson(text), canonical, text);
});

test('a long text has the form that it has when it is read at once', async (t) => {
  const items = Array.from({ length: 20_000 }, (_, i) => [{ b: i / 7, a: `é${i}\n` }, {}, []]);
  for (const length of [0, 1, 4095, 4096, 4097, 20_000]) {
    const text = JSON.stringify({ z: items.slice(0, length), a: Array.from({ length }, () => 1.5) }, null, 1);
    const canonical = canonicalJson(text);
    t.true(isDeepStrictEqual(JSON.parse(canonical!), JSON.parse(text)));
    t.is(await canonicalJsonInTurns(text), canonical);
  }
  t.is(await canonicalJsonInTurns(`[${'1,'.repeat(100_000)}]`), undefined);
});

test('depth has a bound: below it the text stays as it was written, and no stack overflows', (t) => {
  const deep = (levels: number, inner: string): string => '[ '.repeat(levels) + inner + ' ]'.repeat(levels);
  t.not(canonicalJson(deep(1000, '{"b":1,"a":2}')), undefined);
  t.not(canonicalJson(deep(1000, '1')), canonicalJson(deep(1000, '2')));
  t.is(canonicalJson(`${'['.repeat(100_000)}`), undefined);
  t.truthy(canonicalJson(deep(100_000, '"]"')));
});

test('every character of a 100 KB body counts', async (t) => {
  const ending = (last: string) =>
    withBody({
      ...BODY,
      messages: Array.from({ length: 500 }, (_, i) => ({
        role: 'user',
        content: 'x'.repeat(200) + (i === 499 ? last : ''),
      })),
    });
  t.is(await keyOf(ending('a')), await keyOf(ending('a')));
  t.not(await keyOf(ending('a')), await keyOf(ending('b')));
});
