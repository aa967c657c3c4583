// Words that are written so that a check does not see them, and people and models do.
import test from 'ava';
import fc from 'fast-check';
import { plainLook } from '../../src/checks/sandbox/text/plain-look.ts';
import { bench, runHooks, saying } from './try-out.ts';

const tags = [...'password'].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('');
const HIDDEN: Readonly<Record<string, string>> = {
  'zero-width space': 'my pass\u200bword',
  'zero-width joiner, word joiner, byte order mark': 'p\u200da\u2060s\ufeffsword',
  'soft hyphen': 'pass\u00adword',
  'a filler of Hangul': 'pass\u3164word',
  'full-width letters': 'ｐａｓｓｗｏｒｄ',
  'mathematical letters': '𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝',
  'circled letters': 'ⓟⓐⓢⓢⓦⓞⓡⓓ',
  'Cyrillic letters among Latin ones': 'раsswоrd',
  'a Greek letter among Latin ones': 'passwοrd',
  'tag characters': `hello ${tags}`,
  'tag characters between others': [...tags].join('x'),
};

test('a forbidden word is found however it is written', async (t) => {
  const checks = bench(t);
  for (const [how, text] of Object.entries(HIDDEN))
    for (const hook of [
      { contains: { words: ['password'], operator: 'none' } },
      { regexMatch: { rule: 'password', not: true } },
    ]) {
      const run = await runHooks(checks, saying(text), { ...hook, deny: true });
      t.is(run.decision, 'deny', how);
      t.is(
        (await runHooks(checks, saying('a word of passage ☃ Привет'), { ...hook, deny: true })).decision,
        'pass',
      );
    }
});

test('long texts are looked at as short ones are', async (t) => {
  const checks = bench(t);
  const text = `${'я'.repeat(1_000_000)} pass\u200bword`;
  const hook = { contains: { words: ['password'], operator: 'none' }, deny: true };
  t.is((await runHooks(checks, saying(text), hook)).decision, 'deny');
});

test('words of another script stay what they are, and a word that is not seen forbids nothing', async (t) => {
  const checks = bench(t);
  t.is(plainLook('сор и рост, ο κόσμος'), 'сор и рост, ο κόσμος');
  const hook = { contains: { words: ['\u200b'], operator: 'none' }, deny: true };
  t.is((await runHooks(checks, saying('héllo'), hook)).decision, 'pass');
  t.is((await runHooks(checks, saying('h\u200bi'), hook)).decision, 'deny');
});

test('plain text is left alone, and whatever text comes is read', (t) => {
  fc.assert(fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => plainLook(text) === text));
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => typeof plainLook(text) === 'string'));
  t.pass();
});
