// The newcomer's path, as commands: start, a first answer from a model on this machine, a first key with a budget.
// Installing is the other two commands (clone, npm ci): what runs here is what `npm ci` has made ready.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Clone and `npm ci`, before these. */
const INSTALLED = 2;
const MOST_COMMANDS = 8;

test('from the start to a key with a budget in a few commands', async (t) => {
  t.timeout(170_000);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-newcomer-'));
  // Ollama answers at its own port; where one runs already, it is not disturbed.
  const model = createServer((_, answer) => {
    answer.setHeader('content-type', 'application/json');
    answer.end(
      JSON.stringify({
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'tiny',
        choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }),
    );
  });
  const own = await new Promise<boolean>((resolve) => {
    model.once('error', () => resolve(false)).listen(11_434, '127.0.0.1', () => resolve(true));
  });
  if (!own) t.log('port 11434 is in use: the answers are those of the server there');

  const commands: string[] = ['git clone', 'npm ci', 'npm start'];
  const gateway = spawn('npm', ['start'], {
    cwd: ROOT,
    env: { ...process.env, PORT: '0', GATEWAY_DATA_DIR: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  t.teardown(async () => {
    const gone = new Promise((resolve) => gateway.once('exit', resolve));
    if (gateway.exitCode === null && gateway.pid !== undefined) process.kill(-gateway.pid, 'SIGTERM');
    await gone;
    model.closeAllConnections();
    model.close();
    rmSync(folder, { recursive: true, force: true });
  });
  let [url, admin, workspace] = ['', '', ''];
  for await (const line of createInterface({ input: gateway.stdout })) {
    url ||= /^Sluice listens on (\S+)/.exec(line)?.[1] ?? '';
    admin ||= /^Admin API key\b.* (\S+)$/.exec(line)?.[1] ?? '';
    workspace ||= /^Workspace API key\b.* (\S+)$/.exec(line)?.[1] ?? '';
    if (line.startsWith('curl ')) break;
  }
  const curl = async (path: string, key: string, body: object, ...headers: string[]): Promise<string> => {
    const args = ['-sS', '-w', '\n%{http_code}', `${url}/v1${path}`, '-H', `x-gateway-api-key: ${key}`];
    for (const header of ['content-type: application/json', ...headers]) args.push('-H', header);
    commands.push(`curl ${path}`);
    const { stdout } = await promisify(execFile)('curl', [...args, '-d', JSON.stringify(body)]);
    return stdout;
  };
  const question = { model: 'tiny', messages: [{ role: 'user', content: 'hi' }] };
  const ollama = 'x-gateway-provider: ollama';

  const first = await curl('/chat/completions', workspace, question, ollama);
  if (own) t.regex(first, /hello[\s\S]*\n200$/);
  const made = await curl('/api-keys/workspace/service', admin, {
    name: 'first key with a budget',
    workspace_id: 'default',
    scopes: ['completions.write'],
    usage_limits: { type: 'cost', credit_limit: 5, periodic_reset: 'monthly' },
  });
  t.regex(made, /\n200$/);
  const { key } = JSON.parse(made.slice(0, made.lastIndexOf('\n'))) as { readonly key: string };
  const second = await curl('/chat/completions', key, question, ollama);
  if (own) t.regex(second, /hello[\s\S]*\n200$/);
  t.true(commands.length <= MOST_COMMANDS, commands.join('; '));
  t.true(commands.length > INSTALLED);
});
