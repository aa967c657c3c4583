// A flood of bad keys becomes no flood of entries.
import test from 'ava';
import { createAnonymousAudit } from '../../../src/access/audit/anonymous-audit.ts';
import type { AuditRecord } from '../../../src/access/audit/entry.ts';

const refusal = (detail: string): AuditRecord => ({ detail }) as AuditRecord;

test('what comes too fast is counted', async (t) => {
  const written: [string, string][] = [];
  let now = 0;
  const strangers = createAnonymousAudit({
    append: async (organisationId, { detail }) => void written.push([organisationId, detail]),
    monotonic: () => now,
    onLost: () => t.fail(),
  });
  for (let i = 0; i < 5000; i++) strangers.tell('a', refusal(`a${i}`));
  strangers.tell('b', refusal('b'));
  await strangers.flush();
  t.is(written.filter(([org]) => org === 'a').length, 101);
  t.deepEqual(
    written.filter(([org]) => org === 'b'),
    [['b', 'b']],
  );
  t.regex(written.find(([, detail]) => / too fast /.test(detail))?.[1] ?? '', /^4900 .* a4999$/);
  // A second later there is room for a few more.
  now += 1000;
  written.length = 0;
  for (let i = 0; i < 10; i++) strangers.tell('a', refusal(`late ${i}`));
  await strangers.flush();
  t.is(written.length, 6);
  await strangers.flush();
  t.is(written.length, 6);
});

test('what cannot be written is told, and the next is written', async (t) => {
  let broken = true;
  const lost: number[] = [];
  const written: string[] = [];
  const strangers = createAnonymousAudit({
    append: async (_, { detail }) => {
      if (broken) throw new Error('gone');
      written.push(detail);
    },
    monotonic: () => 0,
    onLost: (_, count) => void lost.push(count),
  });
  strangers.tell('a', refusal('one'));
  strangers.tell('a', refusal('two'));
  await strangers.flush();
  t.deepEqual(lost, [2]);
  broken = false;
  strangers.tell('a', refusal('three'));
  await strangers.flush();
  t.deepEqual(written, ['three']);
});
