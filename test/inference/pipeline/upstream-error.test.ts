// What a provider's refusal says in its headers and in its body: the kind of the error, and when to ask again.
import test from 'ava';
import { upstreamError } from '../../../src/inference/pipeline/upstream.ts';
import { dialects } from '../../providers/support/golden.ts';
import { targetOf } from '../../providers/support/target.ts';

function refused(id: string, status: number, headers: Readonly<Record<string, string>>, body: unknown) {
  const target = targetOf(id);
  const head = { status, rawHeaders: [], header: (name: string) => headers[name] };
  const dialect = dialects.get(target.provider.dialect)!;
  return upstreamError(target, dialect, head, Buffer.from(JSON.stringify(body)));
}

test('AWS names the kind of an error in a header', (t) => {
  const name = 'x-amzn-errortype';
  const body = { message: 'Rate exceeded' };
  const kind = (value: string) => refused('bedrock', 429, { [name]: value }, body).details.type;
  t.is(kind('ThrottlingException'), 'ThrottlingException');
  t.is(kind('ThrottlingException:http://internal.amazon.com/coral/'), 'ThrottlingException');
  t.is(kind('no kind\u0007'), undefined);
  const own = refused('bedrock', 400, { [name]: 'Other' }, { __type: 'a#ValidationException', message: 'm' });
  t.is(own.details.type, 'ValidationException');
});

test('Google says among the details when to ask again; a header says it better', (t) => {
  const body = (retryDelay: unknown) => ({
    error: {
      code: 429,
      message: 'Quota',
      status: 'RESOURCE_EXHAUSTED',
      details: [null, { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }],
    },
  });
  const after = (delay: unknown, headers = {}) =>
    refused('google', 429, headers, body(delay)).details.retryAfterMs;
  t.is(after('34.4s'), 34_400);
  t.is(after('0s'), 0);
  t.is(after('2s', { 'retry-after': '7' }), 7000);
  for (const none of ['-3s', '1e9s', 's', 5, null, {}, '9999999s']) t.is(after(none), undefined);
  t.is(refused('vertex-ai', 429, {}, [body('1s')]).details.retryAfterMs, 1000);
});
