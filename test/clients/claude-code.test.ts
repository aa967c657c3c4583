// The real @anthropic-ai/claude-code, unchanged, doing a task of five turns with tools through the gateway: once against
// Anthropic's wire and once against OpenAI's. It is installed into .cache on first use: its binary has 240 MB.
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import type http from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const run = promisify(execFile);
const VERSION = '2.1.330';
const PLACE = resolve('.cache', 'claude-code');
const BINARY = join(
  PLACE,
  'node_modules',
  '@anthropic-ai',
  `claude-code-${process.platform}-${process.arch}`,
  'claude',
);
/** Of one task. */
const MOST_MS = 90_000;

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
});
test.after.always(() => gateway?.close());

/** Whether the agent is there; or why it cannot be, which is told loudly. */
async function isInstalled(t: ExecutionContext): Promise<boolean> {
  if (existsSync(BINARY)) return true;
  try {
    mkdirSync(PLACE, { recursive: true });
    writeFileSync(join(PLACE, 'package.json'), '{"private":true}');
    t.log(`installing @anthropic-ai/claude-code ${VERSION} into .cache/claude-code`);
    const args = ['install', '--no-save', '--ignore-scripts', `@anthropic-ai/claude-code@${VERSION}`];
    await run('npm', args, { cwd: PLACE });
  } catch (error) {
    t.log(error instanceof Error ? error.message : String(error));
  }
  if (existsSync(BINARY)) return true;
  t.log('*** SKIPPED: Claude Code was NOT tested, it cannot be had ***');
  t.pass();
  return false;
}

interface Turn {
  readonly tool?: string;
  readonly input?: object;
  readonly text?: string;
}

/** What the model says after so many results of tools. */
function script(folder: string): readonly Turn[] {
  const file = join(folder, 'note.txt');
  return [
    { tool: 'Write', input: { file_path: file, content: 'one\n' } },
    { tool: 'Read', input: { file_path: file } },
    { tool: 'Bash', input: { command: `echo two >> ${file}`, description: 'Append' } },
    { tool: 'Bash', input: { command: `cat ${file}`, description: 'Show' } },
    { text: 'The note has two lines.' },
  ];
}

const USAGE = { prompt_tokens: 50, completion_tokens: 9, total_tokens: 59 };

function openAiEvents({ tool, input, text }: Turn, at: number): string {
  const chunk = (delta: object, finish: string | null = null): object => ({
    id: `chatcmpl-${at}`,
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt-5',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const called = (given: object): object => chunk({ tool_calls: [{ index: 0, ...given }] });
  const args = JSON.stringify(input ?? {});
  const half = Math.floor(args.length / 2);
  const said = tool
    ? [
        called({ id: `call_${at}`, type: 'function', function: { name: tool, arguments: '' } }),
        called({ function: { arguments: args.slice(0, half) } }),
        called({ function: { arguments: args.slice(half) } }),
        chunk({}, 'tool_calls'),
      ]
    : [chunk({ content: text }), chunk({}, 'stop')];
  const usage = {
    id: 'u',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt-5',
    choices: [],
    usage: USAGE,
  };
  const events = [chunk({ role: 'assistant', content: '' }), ...said, usage];
  return `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`;
}

function anthropicEvents({ tool, input, text }: Turn, at: number): string {
  const head = {
    id: `msg_${at}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content: [],
  };
  const usage = { input_tokens: 50, output_tokens: 1 };
  const block = tool
    ? { type: 'tool_use', id: `toolu_${at}`, name: tool, input: {} }
    : { type: 'text', text: '' };
  const delta = tool
    ? { type: 'input_json_delta', partial_json: JSON.stringify(input) }
    : { type: 'text_delta', text };
  const events: object[] = [
    { type: 'message_start', message: { ...head, stop_reason: null, stop_sequence: null, usage } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: tool ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: { output_tokens: 9 },
    },
    { type: 'message_stop' },
  ];
  return events
    .map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
}

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

function resultsIn({ messages }: Asked): number {
  return messages.reduce((sum, { role, content }) => {
    const blocks = Array.isArray(content) ? (content as { readonly type?: string }[]) : [];
    return sum + (role === 'tool' ? 1 : blocks.filter(({ type }) => type === 'tool_result').length);
  }, 0);
}

for (const wire of ['anthropic', 'openai'] as const) {
  test.serial(`a task of five turns over ${wire}`, async (t) => {
    t.timeout(MOST_MS * 3);
    if (!(await isInstalled(t))) return;
    const folder = mkdtempSync(join(tmpdir(), 'agent-'));
    const turns = script(folder);
    const provider = await startFakeProvider();
    const path = wire === 'anthropic' ? '/messages' : '/chat/completions';
    const answer = (_: http.IncomingMessage, res: http.ServerResponse, body: Buffer): void => {
      const at = resultsIn(JSON.parse(body.toString('utf8')) as Asked);
      const turn = turns[Math.min(at, turns.length - 1)]!;
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.end(wire === 'anthropic' ? anthropicEvents(turn, at) : openAiEvents(turn, at));
    };
    for (let i = 0; i < 20; i++) provider.next(path, answer);
    const config = { provider: wire, custom_host: provider.origin, api_key: 'sk-of-the-provider' };
    try {
      const { code, out } = await agent(folder, config, wire === 'anthropic' ? 'claude-sonnet-4-5' : 'gpt-5');
      t.is(code, 0, out);
      const result = JSON.parse(out) as { readonly result: string; readonly num_turns: number };
      t.is(result.result, 'The note has two lines.');
      t.is(result.num_turns, 5);
      t.is(readFileSync(join(folder, 'note.txt'), 'utf8'), 'one\ntwo\n');
      t.true(provider.seen.every(({ headers }) => !JSON.stringify(headers).includes(WORKSPACE_KEY)));
    } finally {
      await provider.close();
    }
  });
}

/** Runs the agent in a folder until it has done its task. */
function agent(folder: string, config: object, model: string): Promise<{ code: number | null; out: string }> {
  const task = 'Write note.txt with a line, read it, append a line and show it.';
  const tools = ['--allowedTools', 'Write', 'Read', 'Bash', '--permission-mode', 'acceptEdits'];
  const child = spawn(BINARY, ['-p', task, '--output-format', 'json', '--model', model, ...tools], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: MOST_MS,
    env: {
      PATH: process.env.PATH,
      HOME: join(folder, '.home'),
      ANTHROPIC_BASE_URL: gateway.origin,
      ANTHROPIC_AUTH_TOKEN: WORKSPACE_KEY,
      ANTHROPIC_CUSTOM_HEADERS: `x-gateway-config: ${JSON.stringify(config)}`,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_AUTOUPDATER: '1',
    },
  });
  let out = '';
  child.stdout.on('data', (piece: Buffer) => {
    out += piece.toString('utf8');
  });
  return new Promise((resolveWith, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolveWith({ code, out }));
  });
}
