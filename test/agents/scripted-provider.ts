// A provider that plays a task of several turns with an agent: it calls the agent's shell and its free-form tool that
// patches files until it has seen enough results, then says that it is done. It speaks Responses, chat completions and
// Messages, streamed as agents ask for it.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { anthropicEvents, chatEvents, responsesEvents } from './scripted-wires.ts';

type Json = Record<string, unknown>;

/** The agents' own shells, and how each is called. */
const SHELLS: Readonly<Record<string, (command: string) => Json>> = {
  exec_command: (cmd) => ({ cmd }),
  shell_command: (command) => ({ command }),
  shell: (command) => ({ command: ['bash', '-lc', command] }),
};
const PATCH = 'apply_patch';
/** What the patch writes into a file of the agent's folder. */
export const PATCHED = { file: 'note.txt', text: 'turn-2' } as const;
/** The turns with a call, before the last one. */
const STEPS: readonly ({ readonly shell: string } | { readonly patch: string })[] = [
  { shell: 'echo turn-1' },
  { patch: `*** Begin Patch\n*** Add File: ${PATCHED.file}\n+${PATCHED.text}\n*** End Patch\n` },
  { shell: `cat ${PATCHED.file} && echo turn-3` },
  { shell: 'echo turn-4' },
];
export const CALLS = STEPS.length;

/** A call of a tool, as each wire writes it. */
export interface ScriptedCall {
  readonly name: string;
  /** Of a function. */
  readonly args: string;
  /** Of a free-form tool that the wire knows as such. */
  readonly input?: string;
}

export interface ScriptedProvider {
  readonly origin: string;
  /** Bodies of the turns, in order. */
  readonly turns: Json[];
  close(): Promise<void>;
}

/** Starts it on a free port of the loopback. */
export async function startScriptedProvider(): Promise<ScriptedProvider> {
  const turns: Json[] = [];
  const server = http.createServer((req, res) => {
    let text = '';
    req.on('data', (piece: Buffer) => {
      text += String(piece);
    });
    req.on('end', () => {
      const path = (req.url ?? '').split('?')[0]!;
      if (req.method !== 'POST') {
        res.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"none"}}');
        return;
      }
      const body = JSON.parse(text) as Json;
      turns.push(body);
      const model = String(body.model);
      const call = nextCall(body);
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const write = path.endsWith('/responses')
        ? responsesEvents
        : path.endsWith('/messages')
          ? anthropicEvents
          : chatEvents;
      res.end(write(call, turns.length, model));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    turns,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The next call, or undefined when the task is done. */
function nextCall(body: Json): ScriptedCall | undefined {
  const step = STEPS[resultsIn(body)];
  const tools = (body.tools ?? []) as Json[];
  const names = new Map(tools.map((tool) => [nameOf(tool), tool]));
  if (step === undefined) return undefined;
  if ('patch' in step && names.has(PATCH)) {
    const { patch } = step;
    const isFree = names.get(PATCH)!.type === 'custom' && names.get(PATCH)!.input_schema === undefined;
    return { name: PATCH, args: JSON.stringify({ input: patch }), ...(isFree ? { input: patch } : {}) };
  }
  const name = [...names.keys()].find((tool) => tool in SHELLS);
  if (name === undefined) return undefined;
  const command = 'shell' in step ? step.shell : `echo ${PATCHED.text} > ${PATCHED.file}; echo no patch`;
  return { name, args: JSON.stringify(SHELLS[name]!(command)) };
}

function nameOf({ name, function: inner }: Json): string {
  return String(name ?? (inner as Json | undefined)?.name);
}

/** Results of tools in what a turn is asked with. */
function resultsIn({ input, messages }: Json): number {
  if (Array.isArray(input))
    return (input as Json[]).filter(({ type }) => /_output$/.test(String(type))).length;
  return (messages as Json[]).reduce((sum, { role, content }) => {
    if (role === 'tool') return sum + 1;
    const blocks = Array.isArray(content) ? (content as Json[]) : [];
    return sum + blocks.filter(({ type }) => type === 'tool_result').length;
  }, 0);
}
