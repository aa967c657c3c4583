// What deny guardrails read of each API's requests: the guide's table, member by member.
import { readFileSync } from 'node:fs';
import test from 'ava';
import type { Api, JsonObject } from '../../src/checks/view/traffic.ts';
import { bench, call, runHooks } from './try-out.ts';

const GUIDE = readFileSync(new URL('../../src/docs/guardrails.md', import.meta.url), 'utf8');
const WORD = 'forbidden';

/** The table's rows: APIs, then three columns of paths. */
const ROWS = GUIDE.split('<!-- read:')[1]!
  .split('<!-- /read -->')[0]!
  .split('\n')
  .filter((line) => /^\| `/.test(line))
  .map((line) =>
    line
      .split('|')
      .slice(1, 5)
      .map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!)),
  );

/** The word at a path: `a[document].b` is {a: [{type: 'document', b: word}]}. */
function at(path: readonly string[]): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return WORD;
  const { name = '', list, type } = /^(?<name>\w+)(?<list>\[(?<type>\w*)\])?$/.exec(step)!.groups!;
  const inner = at(rest);
  if (list === undefined) return { [name]: inner };
  return { [name]: [type && typeof inner === 'object' ? { type, ...inner } : inner] };
}

const requestWith = (path: string): JsonObject => at(path.split('.')) as JsonObject;
const NONE = { contains: { words: [WORD], operator: 'none' } };
const NOT = { regexMatch: { rule: WORD, not: true } };

test('each member of the guide’s table is read, or is not, as the table says', async (t) => {
  const checks = bench(t);
  const denies = async (api: string, path: string, hook: object): Promise<boolean> => {
    const traffic = call({ api: api as Api, request: requestWith(path) });
    return (await runHooks(checks, traffic, { ...hook, deny: true })).decision === 'deny';
  };
  t.true(ROWS.length >= 8);
  for (const [apis = [], conversation = [], beside = [], unread = []] of ROWS)
    for (const api of apis) {
      for (const path of conversation) {
        t.true(await denies(api, path, { ...NONE, scope: 'all' }), `${api} ${path}`);
        // The newest message alone; what stands before the messages is not in it.
        if (/^(?:messages|contents|input)\[/.test(path))
          t.true(await denies(api, path, { ...NONE, scope: 'last' }), `${api} ${path} with the scope last`);
      }
      for (const path of beside) {
        t.true(await denies(api, path, { ...NONE, scope: 'all' }), `${api} ${path}`);
        t.true(await denies(api, path, { ...NOT, scope: 'all' }), `${api} ${path} by a pattern`);
        t.false(await denies(api, path, { ...NONE, scope: 'last' }), `${api} ${path} is of no message`);
      }
      for (const path of unread)
        t.false(await denies(api, path, { ...NONE, scope: 'all' }), `${api} ${path}`);
    }
});

test('names within tools count, escapes hide nothing, and a check may leave it all out', async (t) => {
  const checks = bench(t);
  const tool = (fn: object) =>
    call({ request: { messages: [], tools: [{ type: 'function', function: fn }] } });
  const decision = async (traffic: ReturnType<typeof call>, parameters: object) =>
    (
      await runHooks(checks, traffic, {
        contains: { words: [WORD], operator: 'none', ...parameters },
        scope: 'all',
        deny: true,
      })
    ).decision;
  const named = tool({ name: 'f', parameters: { properties: { [WORD]: { type: 'string' } } } });
  t.is(await decision(named, {}), 'deny');
  t.is(await decision(named, { includeToolCalls: false }), 'pass');
  t.is(await decision(tool({ description: 'a\nforb"idden' }), { words: ['a\nforb"'] }), 'deny');
  t.is(await decision(tool({ description: 'a'.repeat(2_200_000) }), {}), 'deny', 'too long to look at');
});

test('what must be there is to be in the conversation, and is taken as it is written', async (t) => {
  const checks = bench(t);
  const traffic = call({
    request: {
      messages: [{ role: 'user', content: 'pl\u200bease' }],
      tools: [{ type: 'function', function: { name: 'f', description: 'please' } }],
    },
  });
  for (const hook of [
    { contains: { words: ['please'], operator: 'any' } },
    { regexMatch: { rule: 'please' } },
  ])
    t.is((await runHooks(checks, traffic, { ...hook, scope: 'all', deny: true })).decision, 'deny');
});
