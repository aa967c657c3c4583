// The process log: for people on a terminal, JSON else; colours unless NO_COLOR says otherwise.
import test from 'ava';
import { prettyLog } from '../../src/cli/pretty-log.ts';
import { fail } from '../../src/lib/errors.ts';
import { createLog } from '../../src/telemetry/log.ts';

function printed(env: Readonly<Record<string, string>>, isTTY = true): string | undefined {
  let text = '';
  const write = (part: string): boolean => {
    text += part;
    return true;
  };
  const stream = prettyLog({ isTTY, write } as never, env);
  if (stream === undefined) return undefined;
  const log = createLog('info', stream);
  log.warn(
    { err: fail('store_unavailable', 'gone'), organisationId: 'o-1', apiKey: 'sk-secret' },
    'a \u001b[2J call\nfailed',
  );
  return text;
}

test('a terminal gets a line, in colours unless NO_COLOR is set', (t) => {
  const plain = printed({ NO_COLOR: '1' }) ?? '';
  t.regex(plain, /^\d\d:\d\d:\d\d WARN {2}a {2}\[2J call failed gone .*organisationId=o-1/);
  t.is(plain.trimEnd().split('\n').length, 1);
  t.false(plain.includes('sk-secret'));
  t.false(plain.includes('\u001b'));
  const painted = printed({}) ?? '';
  t.true(painted.includes('\u001b[33m'));
  t.false(painted.includes('\u001b[2J'));
});

test('what is no terminal gets JSON', (t) => {
  t.is(printed({}, false), undefined);
});
