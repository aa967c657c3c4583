// The README and the guides: their shell blocks run, their links lead somewhere, and the files that they name exist.
import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type http from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { ROOT } from '../architecture/tools.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startInternet } from '../support/internet.ts';
import { PROGRAM } from '../support/program.ts';

const GUIDES = readdirSync(join(ROOT, 'src', 'docs')).filter((name) => name.endsWith('.md'));
const PAGES = ['README.md', ...GUIDES.map((name) => `src/docs/${name}`)];
const DOCUMENTS = [
  ...PAGES,
  ...['SECURITY', 'CONTRIBUTING', 'CHANGELOG'].map((name) => `.github/${name}.md`),
];

/** Blocks with commands that do not run here, by their first line, and why. They are fenced as `console`. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'npm ci': 'installs a clone and starts it: .ci/run does both',
  'export SLUICE_URL=http://127.0.0.1:8787 SLUICE_KEY=... SLUICE_ADMIN_KEY=...': 'takes values of the reader',
  'GATEWAY_HEADER_PREFIXES=x-gateway-,x-portkey- npm start':
    'starts a gateway that does not end; test/clients has the setting',
  'grpcurl -plaintext \\': 'grpcurl is no dependency; test/clients/grpc-js.test.ts makes the call',
  'GATEWAY_ENCRYPTION_KEY="$(openssl rand -base64 32)" docker compose -f src/deploy/compose.yaml up':
    'needs a container engine and a cluster; test/deploy reads the files',
  'pip install grpcio-tools': 'installs from PyPI; test/clients/python.test.ts does it',
  'export MONGODB_URI=mongodb://... REDIS_URL=redis://... GATEWAY_ENCRYPTION_KEY=... GATEWAY_WORKERS=4':
    'takes addresses of the reader; test/edge/workers.test.ts starts it',
  'sluice migrate      # the stores of MONGODB_URI or GATEWAY_DATA_DIR':
    'takes addresses of the reader; test/store has it',
  'export MONGODB_URI=mongodb://... REDIS_URL=redis://... GATEWAY_ENCRYPTION_KEY="$(cat .data/encryption.key)"':
    'takes addresses of the reader; test/store has it',
};

const LANGUAGES = ['sh', 'console', 'js', 'json', 'yaml', 'toml', 'text'];

for (const page of PAGES) {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const blocks = blocksOf(text, 'sh');
  if (blocks.length > 0)
    test.serial(`${page}: its ${blocks.length} shell blocks run, one after the other`, async (t) => {
      t.timeout(120_000);
      const world = await openWorld(text);
      try {
        for (const block of blocks) {
          const { stdout } = await runShell(block, world).catch((error: { readonly stderr?: string }) => {
            throw new Error(`${page}\n${block}\n${error.stderr}\n${(error as { stdout?: string }).stdout}`);
          });
          t.true(stdout.length > 0, block);
          t.notRegex(stdout, /"status": ?"failure"|"success": ?false/, block);
        }
      } finally {
        await world.close();
      }
    });

  test(`${page}: commands that do not run have a reason`, (t) => {
    // A fence without a language would be read by no test.
    for (const [i, [, language = '']] of [...text.matchAll(/^```(\w*)$/gm)].entries())
      t.true((i % 2 === 0 ? LANGUAGES : ['']).includes(language), `${i}: ${language}`);
    for (const block of blocksOf(text, 'console')) t.truthy(NOT_RUN[block.split('\n')[0]!], block);
    t.pass();
  });

  test(`${page}: the tests that it names exist`, (t) => {
    const named = [...text.matchAll(/`((?:test\/[\w/-]+|cve-[\d-]+)(?:\.test)?\.ts)`/g)].map(
      (match) => match[1]!,
    );
    for (const name of named)
      t.true(existsSync(join(ROOT, name.startsWith('test/') ? name : `test/cves/${name}`)), name);
    t.pass();
  });
}

for (const document of DOCUMENTS)
  test(`${document}: its links lead to files and headings that exist`, (t) => {
    const text = readFileSync(join(ROOT, document), 'utf8');
    for (const [, href = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(?:https?:|\/docs$|\/openapi\.json$)/.test(href)) continue;
      const [path = '', anchor] = href.split('#');
      const file = path === '' ? document : join(dirname(document), path);
      t.true(existsSync(join(ROOT, file)), href);
      if (anchor !== undefined)
        t.true(anchorsOf(readFileSync(join(ROOT, file), 'utf8')).includes(anchor), href);
    }
    t.pass();
  });

test('the README has at most 200 lines and names every guide', (t) => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  t.true(readme.split('\n').length <= 201);
  for (const name of GUIDES) t.true(readme.includes(`(src/docs/${name})`), name);
});

test('each reason belongs to a block', (t) => {
  const first = PAGES.flatMap((page) => blocksOf(readFileSync(join(ROOT, page), 'utf8'), 'console')).map(
    (block) => block.split('\n')[0]!,
  );
  t.deepEqual(
    Object.keys(NOT_RUN).filter((line) => !first.includes(line)),
    [],
  );
});

test('each test that is named after a vulnerability has a row in the security guide', (t) => {
  const text = readFileSync(join(ROOT, 'src', 'docs', 'security.md'), 'utf8');
  const tests = readdirSync(join(ROOT, 'test', 'cves')).filter((name) => name.endsWith('.test.ts'));
  t.true(tests.length > 10);
  for (const name of tests) t.true(text.includes(name), name);
});

function blocksOf(text: string, language: string): string[] {
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, kind, block]) =>
    kind === language ? [block!] : [],
  );
}

function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replace(/\s/g, '-'),
  );
}

interface World {
  /** Where the blocks run: in a clone, or where the page's file of declared state is. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/**
 * A gateway, providers in the place of those on the internet, a curl that fails when an answer is no success, the `sluice`
 * command, and the page's file of declared state in the folder.
 */
async function openWorld(text: string): Promise<World> {
  const provider = await startFakeProvider();
  const internet = await startInternet({
    'api.openai.com': provider.origin,
    'api.anthropic.com': provider.origin,
    'vault.example.com': vault,
    'issuer.example.com': (_, res) => res.end('{"keys":[]}'),
  });
  const gateway = await startGateway({ ...internet.env, NO_PROXY: '127.0.0.1' }).catch(async (error) => {
    await internet.close();
    await provider.close();
    throw error;
  });
  const home = mkdtempSync(join(tmpdir(), 'sluice-guides-'));
  const command = join(home, 'bin', 'sluice');
  mkdirSync(join(home, 'bin'));
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`, {
    mode: 0o755,
  });
  const declared = blocksOf(text, 'yaml').find((block) => block.startsWith('version: 1\n'));
  if (declared !== undefined) writeFileSync(join(home, 'sluice.yaml'), declared);
  writeFileSync(join(home, '.curlrc'), 'fail-with-body\nsilent\nshow-error\nmax-time = 30\n');
  return {
    folder: home,
    env: {
      PATH: `${join(home, 'bin')}:${process.env.PATH}`,
      CURL_HOME: home,
      SLUICE_URL: gateway.origin,
      SLUICE_KEY: WORKSPACE_KEY,
      SLUICE_ADMIN_KEY: ADMIN_KEY,
      OLLAMA_URL: provider.origin,
      OPENAI_API_KEY: 'sk-made-up-0123456789',
      ANTHROPIC_API_KEY: 'sk-ant-made-up-0123456789',
      APP_KEY: 'slk_made_up_app_key_0123456789abcdef',
    },
    async close() {
      await gateway.close();
      await internet.close();
      await provider.close();
      rmSync(home, { recursive: true });
    },
  };
}

function vault(_: http.IncomingMessage, res: http.ServerResponse): void {
  res.setHeader('content-type', 'application/json');
  res.end(JSON.stringify({ data: { data: { key: 'sk-made-up-in-a-vault' }, metadata: { version: 1 } } }));
}

function runShell(block: string, { env, folder }: World): Promise<{ readonly stdout: string }> {
  const { HOME = '' } = process.env;
  return promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', block], {
    // Scripts are the checkout's.
    cwd: /^(?:npm (?:run|ci|test|start)|node (?:src|test)\/|kubectl|docker)/.test(block) ? ROOT : folder,
    env: { ...env, HOME },
    maxBuffer: 2 ** 26,
  });
}
