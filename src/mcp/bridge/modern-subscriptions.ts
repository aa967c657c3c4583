// Subscriptions of a client of 2026-07-28 at an older server: its stream of notices, the resources that are watched there,
// and tasks.
import { randomUUID } from 'node:crypto';
import { Aborter } from '../../lib/abort.ts';
import { MergedFrames } from '../notices/merged-frames.ts';
import type { Asked, AskedRequest, Relayed } from '../relay/asked.ts';
import { endless, eventsAnswer } from '../relay/own-answer.ts';
import { declaresTasks, tasksNotDeclared } from '../tasks/task-shapes.ts';
import type { Target } from '../upstream/target.ts';
import { META } from '../wire/eras.ts';
import { isObject, type JsonObject, type RpcRequest } from '../wire/json-rpc.ts';
import { McpError, RPC } from '../wire/mcp-error.ts';
import type { Frame } from '../wire/sse-frames.ts';
import { eventOf, framesOf } from './bridge-deps.ts';
import type { ModernTasks } from './modern-tasks.ts';
import type { SendInSession, UpstreamSession, UpstreamSessions } from './upstream-sessions.ts';

export interface ModernSubscriptionsDeps {
  readonly sessions: UpstreamSessions;
  readonly tasks: ModernTasks;
  readonly send: SendInSession;
}

const KINDS: Readonly<Record<string, string>> = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
};

export class ModernSubscriptions {
  readonly #deps: ModernSubscriptionsDeps;

  constructor(deps: ModernSubscriptionsDeps) {
    this.#deps = deps;
  }

  /** The server's own stream of notices, as the subscription that the client asked for. */
  async open(target: Target, asked: AskedRequest): Promise<Relayed> {
    const { params } = asked.message;
    if (!isObject(params?.notifications))
      throw new McpError(RPC.invalidParams, 'Invalid params: notifications is missing', {
        id: asked.message.id,
      });
    const { tasks = [] } = asked;
    if (tasks.length > 0 && !declaresTasks(asked.message))
      throw tasksNotDeclared(asked.message.id, 'a subscription of tasks');
    const session = await this.#deps.sessions.of(target, asked);
    const honored = honoredOf(params.notifications, session.said.capabilities);
    return eventsAnswer(this.#notices(target, asked, session, honored));
  }

  async *#notices(
    target: Target,
    asked: AskedRequest,
    session: UpstreamSession,
    honored: JsonObject,
  ): AsyncGenerator<Frame, void> {
    const { id } = asked.message;
    const stamp = { [META.subscription]: id };
    const notice = (method: string, params: JsonObject = {}): Frame =>
      eventOf({
        jsonrpc: '2.0',
        method,
        params: { ...params, _meta: { ...(isObject(params._meta) ? params._meta : {}), ...stamp } },
      });
    const followed = await this.#deps.tasks.followed(target, asked);
    const taskIds = followed.map(({ task }) => task.shown);
    const all = taskIds.length === 0 ? honored : { ...honored, taskIds };
    yield notice('notifications/subscriptions/acknowledged', { notifications: all });
    const frames = new MergedFrames(endless());
    for (const one of followed) void one.each((task) => frames.add(notice('notifications/tasks', task)));
    const left = (): void => frames.fail(asked.signal.reason);
    asked.signal.addEventListener('abort', left);
    if (asked.signal.aborted) left();
    const leave = session.stream.listen(({ method, params }) => {
      if (isHonored(honored, method, params)) frames.add(notice(method, params));
    });
    const uris = (honored.resourceSubscriptions ?? []) as readonly string[];
    try {
      for (const uri of uris) await this.#watch(target, asked, session, uri);
      yield* frames;
    } finally {
      leave();
      asked.signal.removeEventListener('abort', left);
      for (const uri of uris) this.#unwatch(target, asked, session, uri);
    }
  }

  /** The server is told of the first subscription of a resource in a session, and of the end of the last. */
  async #watch(target: Target, asked: Asked, session: UpstreamSession, uri: string): Promise<void> {
    const count = session.watched.get(uri) ?? 0;
    session.watched.set(uri, count + 1);
    if (count === 0) await this.#subscribed(target, asked, session, 'resources/subscribe', uri);
  }

  #unwatch(target: Target, asked: Asked, session: UpstreamSession, uri: string): void {
    const count = (session.watched.get(uri) ?? 0) - 1;
    if (count > 0) return void session.watched.set(uri, count);
    session.watched.delete(uri);
    // The subscription's own signal has ended it.
    const own = { ...asked, signal: new Aborter() };
    this.#subscribed(target, own, session, 'resources/unsubscribe', uri).catch(() => {});
  }

  async #subscribed(
    target: Target,
    asked: Asked,
    session: UpstreamSession,
    method: string,
    uri: string,
  ): Promise<void> {
    const message: RpcRequest = { jsonrpc: '2.0', id: randomUUID(), method, params: { uri } };
    for await (const _ of framesOf(await this.#deps.send(target, asked, session, message)));
  }
}

function isHonored(honored: JsonObject, method: string, params: JsonObject | undefined): boolean {
  const kind = KINDS[method];
  if (kind !== undefined) return honored[kind] === true;
  const uris = honored.resourceSubscriptions;
  return method === 'notifications/resources/updated' && Array.isArray(uris) && uris.includes(params?.uri);
}

function honoredOf(asked: JsonObject, capabilities: unknown): JsonObject {
  const has = (kind: string, what: string): boolean => {
    const one = isObject(capabilities) ? capabilities[kind] : undefined;
    return isObject(one) && one[what] === true;
  };
  const uris = Array.isArray(asked.resourceSubscriptions)
    ? asked.resourceSubscriptions.filter((uri) => typeof uri === 'string').slice(0, 1000)
    : [];
  return {
    ...(asked.toolsListChanged === true && has('tools', 'listChanged') ? { toolsListChanged: true } : {}),
    ...(asked.promptsListChanged === true && has('prompts', 'listChanged')
      ? { promptsListChanged: true }
      : {}),
    ...(asked.resourcesListChanged === true && has('resources', 'listChanged')
      ? { resourcesListChanged: true }
      : {}),
    ...(uris.length > 0 && has('resources', 'subscribe') ? { resourceSubscriptions: uris } : {}),
  };
}
