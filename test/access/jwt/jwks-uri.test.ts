// Where key sets may come from.
import test from 'ava';
import { jwksUriCheck } from '../../../src/access/jwt/jwks-uri.ts';
import { parseAllowList } from '../../../src/lib/egress/allow-list.ts';
import { createDialer } from '../../../src/lib/egress/dialer.ts';
import { GatewayError } from '../../../src/lib/errors.ts';

const allow = parseAllowList('127.0.0.1/32, keys.internal, [::1]:8443');
const dialer = createDialer({ allow });
const check = jwksUriCheck(dialer, allow);
test.after.always(() => dialer.close());

for (const url of [
  'https://issuer.example.com/.well-known/jwks.json',
  'https://issuer.example.com:8443/jwks?tenant=1',
  'http://127.0.0.1:9000/jwks',
  'http://keys.internal/jwks',
  'http://[::1]:8443/jwks',
  'https://keys.internal/jwks',
]) {
  test(`taken: ${url}`, (t) => t.notThrows(() => check('jwks_uri', url)));
}

for (const [url, reason] of [
  ['http://issuer.example.com/jwks', 'validation_failed'],
  ['http://8.8.8.8/jwks', 'validation_failed'],
  ['https://10.0.0.1/jwks', 'host_refused'],
  ['http://10.0.0.1/jwks', 'host_refused'],
  ['http://169.254.169.254/latest', 'host_refused'],
  ['https://user:secret@issuer.example.com/jwks', 'host_refused'],
  ['https://issuer.example.com/jwks#keys', 'host_refused'],
  ['file:///etc/passwd', 'host_refused'],
  ['not a url', 'host_refused'],
  ['https://localhost/jwks', 'host_refused'],
] as const) {
  test(`refused: ${url}`, (t) => {
    const error = t.throws(() => check('jwks_uri', url), { instanceOf: GatewayError });
    t.is(error?.reason, reason);
    t.is(error?.status, 400);
    t.is(error?.details.param, 'jwks_uri');
  });
}
