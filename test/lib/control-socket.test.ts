// Commands for a running process over a socket file.
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { type ControlCommand, callControl, listenControl } from '../../src/lib/control-socket.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-ctl-'));
test.after.always(() => rmSync(folder, { recursive: true, force: true }));
let sockets = 0;
const freshPath = (): string => join(folder, `${sockets++}.sock`);

const commands: Record<string, ControlCommand> = {
  well: async (say) => {
    say('half');
    await sleep(1200);
    say('whole');
    return true;
  },
  badly: async () => false,
  fails: async () => {
    throw new Error('why it failed');
  },
};

test('a command runs there, and says here how it goes', async (t) => {
  const path = freshPath();
  writeFileSync(path, 'left by one that was killed');
  const socket = await listenControl(path, commands);
  t.is(statSync(path).mode & 0o777, 0o600);
  const said: string[] = [];
  const say = (line: string): void => void said.push(line);
  t.true(await callControl(path, 'well', say));
  t.deepEqual(said, ['half', 'whole']);
  t.false(await callControl(path, 'badly', say));
  await t.throwsAsync(callControl(path, 'fails', say), { message: 'why it failed' });
  await t.throwsAsync(callControl(path, 'toString', say), { message: 'there is no such command' });
  await t.throwsAsync(callControl(path, 'x'.repeat(5000), say), { message: 'there is no such command' });
  await socket.close();
  t.is(await callControl(path, 'well', say), undefined);
});

test('nobody who listens is no error, and a path that cannot be is one', async (t) => {
  const path = freshPath();
  t.is(await callControl(path, 'well', () => undefined), undefined);
  await t.throwsAsync(listenControl(join(folder, 'x'.repeat(200)), commands));
});

test('who leaves breaks the command off, and so does the end of the process', async (t) => {
  const path = freshPath();
  let broken = 0;
  const waits: ControlCommand = (_, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        broken++;
        reject(signal.reason);
      });
    });
  const socket = await listenControl(path, { waits });
  const caller = createConnection(path);
  await once(caller, 'connect');
  caller.write('waits\n');
  await sleep(50);
  caller.destroy();
  while (broken < 1) await sleep(5);
  const call = callControl(path, 'waits', () => undefined);
  await sleep(50);
  await socket.close();
  await t.throwsAsync(call, { message: /run the command again/ });
  while (broken < 2) await sleep(5);
  t.is(broken, 2);
});
