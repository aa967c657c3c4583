// The banner: keys at the end of their lines, names of variables and never a value, and a command that can be pasted.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'ava';
import { bannerOf } from '../../src/cli/banner.ts';
import { PROGRAM } from '../support/program.ts';

const url = 'http://127.0.0.1:8787';
const key = (secret: string) => ({ id: 'i', secret }) as never;
const nothing = { admin: undefined, workspace: undefined };

test('new keys are shown with their purpose and a call that uses one', (t) => {
  const text = bannerOf({
    url,
    firstKeys: { admin: key('slk_admin'), workspace: key('slk_workspace') },
    givenBy: [],
    variables: { OPENAI_API_KEY: 'sk-very-secret', GROQ_API_KEY: '', HOME: '/root' },
  });
  t.regex(text, /^Console: http:\/\/127\.0\.0\.1:8787\/console /m);
  t.regex(text, /http:\/\/127\.0\.0\.1:8787\/docs$/m);
  t.regex(text, /^Admin API key, shown until it is used once: +slk_admin$/m);
  t.regex(text, /^Workspace API key, shown until it is used once: +slk_workspace$/m);
  t.regex(text, /^Credentials of providers in the environment: OPENAI_API_KEY$/m);
  t.regex(text, /^curl -s http:\/\/127\.0\.0\.1:8787\/v1\/models -H 'x-gateway-api-key: slk_workspace'$/m);
  t.notRegex(text, /sk-very-secret|GROQ|recover/);
});

test('keys that were used are not shown, and the way to new ones is', (t) => {
  const text = bannerOf({ url, firstKeys: nothing, givenBy: [], variables: {} });
  t.regex(text, /`sluice keys recover`/);
  t.regex(text, /^curl -s http:\/\/127\.0\.0\.1:8787\/healthz$/m);
});

test('keys of the settings are named by their variables', (t) => {
  const givenBy = ['GATEWAY_ADMIN_API_KEY', 'GATEWAY_API_KEY'];
  const text = bannerOf({ url, firstKeys: nothing, givenBy, variables: {} });
  t.regex(text, /^The keys are those of GATEWAY_ADMIN_API_KEY and GATEWAY_API_KEY\.$/m);
  t.notRegex(text, /recover/);
});

test('the command of a first start answers 2xx as it is', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-banner-'));
  const child = spawn(process.execPath, [PROGRAM, 'start'], {
    env: { ...process.env, PORT: '0', GATEWAY_DATA_DIR: folder, GATEWAY_API_KEY: '' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    let command: RegExpExecArray | null = null;
    for await (const line of createInterface({ input: child.stdout })) {
      command = /^curl -s (\S+) -H '([\w-]+): (\S+)'$/.exec(line);
      if (command) break;
    }
    const [, address = '', name = '', value = ''] = command ?? [];
    t.is((await fetch(address, { headers: { [name]: value } })).status, 200);
  } finally {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await gone;
    rmSync(folder, { recursive: true, force: true });
  }
});
