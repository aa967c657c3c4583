// Headers of the gateway under each of their prefixes, and whether any of a list is there.
import test from 'ava';
import { GatewayHeaders, HeaderNames } from '../../src/lib/gateway-headers.ts';

const NAMES = new HeaderNames(['x-gateway-', 'x-alias-']);
const WANTED = ['openai-project', 'toString'];

test('any of a list is found exactly where one of them can be read', (t) => {
  for (const name of [
    'openai-project',
    'x-gateway-openai-project',
    'x-alias-openai-project',
    'x-other-openai-project',
    'x-gateway-openai-beta',
    'openai',
  ]) {
    const headers = new GatewayHeaders(NAMES, { host: 'here', [name]: 'a' });
    const canBeRead = (headers.get('openai-project') ?? headers.plain('openai-project')) !== undefined;
    t.is(headers.hasAny(WANTED), canBeRead, name);
  }
});

test('members that every object has are no headers', (t) => {
  t.false(new GatewayHeaders(NAMES, { host: 'here' }).hasAny(WANTED));
});
