// Callers' text in URLs: any text has a form, and code has one way to it.
import { readdirSync, readFileSync } from 'node:fs';
import test from 'ava';
import { urlText } from '../../src/lib/url-text.ts';
import { pathSegment } from '../../src/providers/path-segment.ts';

test('what is no Unicode is replaced, all else is escaped', (t) => {
  t.is(urlText('a/b c\ud800'), 'a%2Fb%20c%EF%BF%BD');
  t.is(pathSegment('\udc00'), '%EF%BF%BD');
  t.is(pathSegment('..'), '%252E%252E');
});

test('nothing else escapes: the built-in function throws at half a surrogate pair', (t) => {
  const src = new URL('../../src/', import.meta.url);
  const users = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('console'))
    .filter((file) =>
      /^(?!\s*(?:\/\/|\*)).*\bencodeURIComponent\b/m.test(readFileSync(new URL(file, src), 'utf8')),
    );
  // Google's question is JSON, in which half a pair is escaped.
  t.deepEqual(users.sort(), ['inference/credentials/google-subject.ts', 'lib/url-text.ts']);
});
