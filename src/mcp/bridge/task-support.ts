// Which tools of an older server are called as tasks.
import { randomUUID } from 'node:crypto';
import { Aborter } from '../../lib/abort.ts';
import type { AskedRequest } from '../relay/asked.ts';
import { declaresTasks, makesTasks, tasksNotDeclared } from '../tasks/task-shapes.ts';
import type { Target } from '../upstream/target.ts';
import { isObject, type RpcRequest } from '../wire/json-rpc.ts';
import { framesOf, responseIn } from './bridge-deps.ts';
import type { SendInSession, UpstreamSession } from './upstream-sessions.ts';

/** How long it is believed what a server said of its tools and tasks. */
const SUPPORT_MS = 60_000;
/** Of a list. */
const MOST_PAGES = 20;

/** Whether a tool is called as a task: the server decides. @throws McpError -32021 where it must be, and cannot */
export async function isCalledAsTask(
  send: SendInSession,
  target: Target,
  asked: AskedRequest,
  session: UpstreamSession,
): Promise<boolean> {
  if (!makesTasks(session.said.capabilities)) return false;
  const { id, params = {} } = asked.message;
  const isDeclared = declaresTasks(asked.message);
  if (session.support === undefined || (isDeclared && Date.now() - session.support.at >= SUPPORT_MS))
    session.support = { at: Date.now(), tools: taskTools(send, target, asked, session) };
  const support = (await session.support.tools).get(String(params.name));
  if (support === 'required' && !isDeclared) throw tasksNotDeclared(id, 'this tool answers by a task, and');
  return isDeclared && (support === 'required' || support === 'optional');
}

/** What the server says of its tools; nothing where it does not list them. */
async function taskTools(
  send: SendInSession,
  target: Target,
  asked: AskedRequest,
  session: UpstreamSession,
): Promise<ReadonlyMap<string, string>> {
  const tools = new Map<string, string>();
  const own = { ...asked, signal: new Aborter() };
  let cursor: unknown;
  try {
    for (let page = 0; page < MOST_PAGES; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const message: RpcRequest = { jsonrpc: '2.0', id: randomUUID(), method: 'tools/list', params };
      const { result = {} } = await responseIn(framesOf(await send(target, own, session, message)));
      for (const tool of Array.isArray(result.tools) ? result.tools : [])
        if (isObject(tool) && isObject(tool.execution) && typeof tool.name === 'string')
          tools.set(tool.name, String(tool.execution.taskSupport));
      cursor = result.nextCursor;
      if (typeof cursor !== 'string') break;
    }
  } catch {
    session.support = undefined;
  }
  return tools;
}
