// Clients that three generators make from gen/openapi.json each make a call. The generators are installed into .cache/clients;
// one that cannot be had is skipped loudly. `npm run clients` runs them one by one, the suite as tests.
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../architecture/tools.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { installPackages } from '../support/python-packages.ts';
import { goClient } from './go-client.ts';

const FOLDER = join(ROOT, '.cache', 'clients');
const DOCUMENT = join(FOLDER, 'openapi.json');
const TIMEOUT_MS = 300_000;
/** What a client prints a part of. */
export const ANSWER = 'Hello';

export interface Generator {
  readonly name: string;
  /** Installs it where it is missing. */
  readonly install: () => Promise<unknown>;
  /** Makes the client and a program that prints the answer's text. */
  readonly generate: () => Promise<unknown>;
  readonly call: (env: Readonly<Record<string, string>>) => Promise<string>;
}

async function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = FOLDER,
) {
  const options = { cwd, env: { ...process.env, ...env }, timeout: TIMEOUT_MS, maxBuffer: 2 ** 26 };
  return (await promisify(execFile)(command, args, options)).stdout;
}

const inFolder = (...parts: readonly string[]): string => join(FOLDER, ...parts);
const unless = (file: string, make: () => Promise<unknown>) =>
  existsSync(file) ? Promise.resolve() : make();

const python: Generator = {
  name: 'openapi-python-client (Python)',
  install: () =>
    unless(inFolder('python', 'bin', 'openapi-python-client'), () =>
      installPackages(inFolder('python'), ['openapi-python-client']),
    ),
  async generate() {
    writeFileSync(
      inFolder('python.yaml'),
      'content_type_overrides:\n  application/jsonl: application/json\n  "*/*": application/octet-stream\n',
    );
    const made = ['--output-path', inFolder('sluice_python'), '--meta', 'none', '--overwrite'];
    const args = ['generate', '--path', DOCUMENT, '--config', inFolder('python.yaml'), ...made];
    await run(inFolder('python', 'bin', 'openapi-python-client'), args);
    writeFileSync(
      inFolder('call.py'),
      `import os
from sluice_python import Client
from sluice_python.api.chat import create_chat_completion
from sluice_python.models import CreateChatCompletionRequest
client = Client(base_url=os.environ["URL"] + "/v1", headers={"x-gateway-api-key": os.environ["KEY"]})
body = CreateChatCompletionRequest.from_dict({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "hi"}]})
answer = create_chat_completion.sync(client=client, body=body, x_gateway_config=os.environ["CONFIG"])
print(answer.to_dict()["choices"][0]["message"]["content"])
`,
    );
  },
  call: (env) => run(inFolder('python', 'bin', 'python'), ['call.py'], env),
};

const typescript: Generator = {
  name: 'openapi-typescript and openapi-fetch (TypeScript)',
  install: () =>
    unless(inFolder('node_modules', 'openapi-typescript', 'bin', 'cli.js'), async () => {
      writeFileSync(inFolder('package.json'), '{"private":true,"type":"module"}\n');
      const packages = ['openapi-typescript@7.13.0', 'openapi-fetch', 'typescript@5'];
      await run('npm', ['install', '--silent', '--ignore-scripts', '--no-audit', ...packages]);
    }),
  async generate() {
    const cli = inFolder('node_modules', 'openapi-typescript', 'bin', 'cli.js');
    await run(process.execPath, [cli, DOCUMENT, '--output', inFolder('types.d.ts')]);
    writeFileSync(
      inFolder('call.ts'),
      `import createClient from 'openapi-fetch';
import type { paths } from './types.d.ts';
declare const process: { readonly env: Record<string, string> };
const client = createClient<paths>({ baseUrl: process.env.URL + '/v1' });
const { data } = await client.POST('/chat/completions', {
  params: { header: { 'x-gateway-config': process.env.CONFIG } },
  headers: { 'x-gateway-api-key': process.env.KEY },
  body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] },
});
console.log(JSON.stringify(data));
`,
    );
    const tsc = inFolder('node_modules', 'typescript', 'bin', 'tsc');
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'esnext', '--module', 'nodenext'];
    const names = ['--allowImportingTsExtensions', 'call.ts'];
    await run(process.execPath, [tsc, ...options, ...names]);
  },
  call: (env) => run(process.execPath, ['call.ts'], env),
};

export const generators: readonly Generator[] = [python, typescript, goClient(FOLDER, DOCUMENT, run)];

/** A gateway for them and what they are told of it. */
export async function startForClients(): Promise<{
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}> {
  mkdirSync(FOLDER, { recursive: true });
  copyFileSync(join(ROOT, 'gen', 'openapi.json'), DOCUMENT);
  const provider = await startFakeProvider();
  const gateway = await startGateway({ LOG_LEVEL: 'silent' });
  const config = { provider: 'openai', custom_host: provider.origin, api_key: 'sk-made-up' };
  return {
    env: { URL: gateway.origin, KEY: WORKSPACE_KEY, CONFIG: JSON.stringify(config) },
    async close() {
      await gateway.close();
      await provider.close();
    },
  };
}

/** Why it cannot be had; undefined: it is there. */
export async function missing({ install }: Generator): Promise<string | undefined> {
  try {
    await install();
    return undefined;
  } catch (error) {
    return String(error instanceof Error ? error.message : error).split('\n', 1)[0]!;
  }
}

async function prove(generator: Generator, env: Readonly<Record<string, string>>): Promise<void> {
  const { name, generate, call } = generator;
  const why = await missing(generator);
  if (why !== undefined) {
    process.stdout.write(`*** SKIPPED: ${name} cannot be had: ${why} ***\n`);
    return;
  }
  try {
    await generate();
    const answer = await call(env);
    if (!answer.includes(ANSWER)) throw new Error(`it answered ${answer.slice(0, 300)}`);
    process.stdout.write(`ok    ${name}\n`);
  } catch (error) {
    process.exitCode = 1;
    process.stdout.write(`FAIL  ${name}: ${error instanceof Error ? error.message : String(error)}\n`);
  }
}

if (import.meta.main) {
  const { env, close } = await startForClients();
  try {
    for (const generator of generators) await prove(generator, env);
  } finally {
    await close();
  }
}
