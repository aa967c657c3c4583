// Services of the control plane change things through Changes alone: what they wrote themselves would have no
// entry in the audit log in the same unit of work.
import test from 'ava';
import { sourcesOf } from './sources.ts';

const WRITES = /\bdocuments\s*\.\s*(?:insert|update|archive|commit)\s*\(/;

test('no service of the control plane writes documents by itself', (t) => {
  const services = sourcesOf('src/admin');
  t.true(services.length > 0);
  t.deepEqual(
    services.filter(({ code }) => WRITES.test(code)).map(({ path }) => path),
    [],
  );
});

test('the rule sees what it is for', (t) => {
  t.true(sourcesOf('src/access/audit').some(({ code }) => WRITES.test(code)));
});
