// Servers with tasks, of either generation, by hand: no SDK has those of 2026-07-28. Their tool `slow` works until it is
// told to finish, `fails` ends with `isError`, `breaks` with an error of the protocol, `asks` after a question; `plain`
// knows no tasks.
import { randomUUID } from 'node:crypto';
import type http from 'node:http';
import { startUpstream, type Upstream } from './upstreams.ts';
import { MODERN } from './wire.ts';

type Json = Record<string, unknown>;
interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Json;
  readonly result?: Json;
}
interface Task {
  readonly id: string;
  readonly session: string;
  readonly tool: string;
  status: string;
  readonly ended: PromiseWithResolvers<void>;
  answer: Json | undefined;
}

export interface TaskUpstream extends Upstream {
  /** Ends the tasks that work. */
  finish(): void;
  /** How often tasks were asked for so far. */
  looks(): number;
  /** Of all tasks, in the order of their beginning. */
  statuses(): string[];
}

export const BROKEN = { code: -32050, message: 'the tool broke' };
const QUESTION = {
  message: 'Which?',
  requestedSchema: { type: 'object', properties: { a: { type: 'string' } } },
};
const TOOLS = ['plain', 'slow', 'fails', 'breaks', 'asks', 'needs'];

class Tasks {
  readonly all = new Map<string, Task>();
  looks = 0;

  begin(tool: string, session: string): Task {
    const ended = Promise.withResolvers<void>();
    const id = `task-${randomUUID()}`;
    const task: Task = { id, session, tool, status: 'working', ended, answer: undefined };
    this.all.set(task.id, task);
    if (tool === 'asks') task.status = 'input_required';
    else if (tool === 'fails' || tool === 'breaks') this.end(task, 'failed');
    return task;
  }

  end(task: Task, status: string): void {
    if (isOver(task)) return;
    task.status = status;
    task.ended.resolve();
  }

  of(params: Json, session: string): Task | undefined {
    this.looks++;
    const task = this.all.get(String(params.taskId));
    return task?.session === session ? task : undefined;
  }

  finish(): void {
    for (const task of this.all.values()) if (task.status === 'working') this.end(task, 'completed');
  }
}

function isOver({ status }: Task): boolean {
  return ['completed', 'failed', 'cancelled'].includes(status);
}

function resultOf({ tool, answer }: Task): Json {
  const text = tool === 'asks' ? `answered ${JSON.stringify(answer)}` : `${tool} is done`;
  return { content: [{ type: 'text', text }], ...(tool === 'fails' ? { isError: true } : {}) };
}

type Said = { readonly result: Json } | { readonly error: Json };
const unknown: Said = { error: { code: -32602, message: 'Task not found' } };

/** Of 2025-11-25: tasks belong to the session that they were made in. */
export async function startTaskUpstream(): Promise<TaskUpstream> {
  const tasks = new Tasks();
  let sessions = new Set<string>();
  const told = ({ id, status }: Task): Json => ({
    ...{ taskId: id, status, createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:01Z' },
    ...{ ttl: 60_000, pollInterval: 100 },
  });
  const hello = {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {}, tasks: { cancel: {}, list: {}, requests: { tools: { call: {} } } } },
    serverInfo: { name: 'older tasks', version: '1' },
  };
  const list = TOOLS.map((name) => ({
    ...{ name, inputSchema: { type: 'object' } },
    ...(name === 'plain' ? {} : { execution: { taskSupport: name === 'needs' ? 'required' : 'optional' } }),
  }));
  const said = (method: string, params: Json, session: string): Said => {
    if (method === 'tools/list') return { result: { tools: list } };
    if (method === 'tools/call') {
      const tool = String(params.name);
      if (params.task === undefined || tool === 'plain') return { result: { content: [] } };
      return { result: { task: told(tasks.begin(tool, session)) } };
    }
    const task = tasks.of(params, session);
    if (task === undefined) return unknown;
    if (method !== 'tasks/cancel') return { result: told(task) };
    if (isOver(task)) return { error: { code: -32602, message: 'the task is over' } };
    tasks.end(task, 'cancelled');
    return { result: told(task) };
  };
  const result = async (res: http.ServerResponse, id: unknown, task: Task): Promise<void> => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const say = (json: Json) => res.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...json })}\n\n`);
    const related = { 'io.modelcontextprotocol/related-task': { taskId: task.id } };
    if (task.status === 'input_required')
      say({ id: task.id, method: 'elicitation/create', params: { ...QUESTION, _meta: related } });
    await task.ended.promise;
    if (task.tool === 'breaks') say({ id, error: BROKEN });
    else say({ id, result: { ...resultOf(task), _meta: related } });
    res.end();
  };
  const upstream = await startUpstream(
    (req, res, body) => {
      if (req.method !== 'POST') return res.writeHead(405).end();
      const message = JSON.parse(body) as Message;
      const { id, method, params = {} } = message;
      if (method === 'server/discover') return res.writeHead(400).end();
      const session = String(req.headers['mcp-session-id'] ?? '');
      const headers: Record<string, string> = { 'content-type': 'application/json' };
      if (method === 'initialize') {
        headers['mcp-session-id'] = randomUUID();
        sessions.add(headers['mcp-session-id']);
      } else if (!sessions.has(session)) return res.writeHead(404).end();
      const answered = method === undefined ? tasks.all.get(String(id)) : undefined;
      if (answered !== undefined) {
        answered.answer = message.result;
        tasks.end(answered, 'completed');
      }
      if (id === undefined || method === undefined) return res.writeHead(202).end();
      const task = method === 'tasks/result' ? tasks.of(params, session) : undefined;
      if (task !== undefined) return result(res, id, task);
      const own = method === 'initialize' ? { result: hello } : said(method, params, session);
      return res.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, ...own }));
    },
    () => {
      sessions = new Set();
    },
  );
  return { ...upstream, ...shown(tasks) };
}

/** Of 2026-07-28, without sessions. */
export async function startModernTaskUpstream(): Promise<TaskUpstream> {
  const tasks = new Tasks();
  const told = (task: Task, isWhole: boolean): Json => ({
    ...{ taskId: task.id, createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:01Z' },
    ...{ status: task.tool === 'fails' && isOver(task) ? 'completed' : task.status },
    ...{ ttlMs: 60_000, pollIntervalMs: 100 },
    ...(isWhole && task.tool === 'breaks' ? { error: BROKEN } : {}),
    ...(isWhole && isOver(task) && task.tool !== 'breaks' && task.status !== 'cancelled'
      ? { result: resultOf(task) }
      : {}),
    ...(isWhole && task.status === 'input_required'
      ? { inputRequests: { which: { method: 'elicitation/create', params: QUESTION } } }
      : {}),
  });
  const complete = (result: Json): Said => ({ result: { resultType: 'complete', ...result } });
  const extension = { 'io.modelcontextprotocol/tasks': {} };
  const data = { requiredCapabilities: { extensions: extension } };
  const missing: Said = { error: { code: -32021, message: 'Missing required client capability', data } };
  const said = (method: string, params: Json): Said => {
    const meta = (params._meta ?? {}) as Record<string, { extensions?: Json }>;
    const { extensions = {} } = meta['io.modelcontextprotocol/clientCapabilities'] ?? {};
    const has = 'io.modelcontextprotocol/tasks' in extensions;
    if (method === 'server/discover')
      return complete({ supportedVersions: [MODERN], capabilities: { tools: {}, extensions: extension } });
    if (method === 'tools/list')
      return complete({ tools: TOOLS.map((name) => ({ name, inputSchema: { type: 'object' } })) });
    if (method === 'tools/call') {
      const tool = String(params.name);
      if (tool === 'needs' && !has) return missing;
      if (tool === 'plain' || !has) return complete({ content: [{ type: 'text', text: 'at once' }] });
      return { result: { resultType: 'task', ...told(tasks.begin(tool, ''), false) } };
    }
    if (!has) return missing;
    const task = tasks.of(params, '');
    if (task === undefined) return unknown;
    if (method === 'tasks/get') return complete(told(task, true));
    const { which } = (params.inputResponses ?? {}) as Record<string, Json>;
    if (method === 'tasks/cancel') tasks.end(task, 'cancelled');
    else if (which !== undefined) {
      task.answer = which;
      tasks.end(task, 'completed');
    }
    return complete({});
  };
  const upstream = await startUpstream((req, res, body) => {
    if (req.method !== 'POST') return res.writeHead(405).end();
    const { id, method = '', params = {} } = JSON.parse(body) as Message;
    if (method === 'initialize') return res.writeHead(400).end();
    const own = said(method, params);
    const text = JSON.stringify({ jsonrpc: '2.0', id, ...own });
    return res.writeHead(200, { 'content-type': 'application/json' }).end(text);
  });
  return { ...upstream, ...shown(tasks) };
}

function shown(tasks: Tasks): Pick<TaskUpstream, 'finish' | 'looks' | 'statuses'> {
  return {
    finish: () => tasks.finish(),
    looks: () => tasks.looks,
    statuses: () => [...tasks.all.values()].map(({ status }) => status),
  };
}
