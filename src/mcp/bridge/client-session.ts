// The session of a client of an older revision at a server without sessions. What must outlive a restart stands sealed
// in its id; what is under way is held here.
import { randomUUID } from 'node:crypto';
import { LruCache } from '../../lib/lru-cache.ts';
import { isObject, type JsonObject, type RequestId, type RpcResponse } from '../wire/json-rpc.ts';

/** What the id says. */
export interface SealedSession {
  readonly sid: string;
  readonly version: string;
  readonly capabilities: JsonObject;
  readonly info: JsonObject;
  /** The server has the extension of tasks. */
  readonly tasks?: boolean;
}

/** What is under way. */
export interface ClientSession extends SealedSession {
  /** Requests to the client that wait, by id. */
  readonly waiting: Map<RequestId, (answer: RpcResponse) => void>;
  /** Ends a request of the client. */
  readonly running: Map<RequestId, () => void>;
  /** Resources that it wants to hear of. */
  readonly watched: Set<string>;
  logLevel: string | undefined;
  /** Told when `watched` changes. */
  rewatch: (() => void) | undefined;
  /** Told of tasks that begin, while the stream of notices is open, by the ids that the caller has. */
  tellTask: ((shown: string) => void) | undefined;
}

const MOST_SESSIONS = 10_000;
/** Of facts in an id, as JSON. */
const MOST_FACTS = 1500;

/** A server that checks what it is told would refuse a client for what is none of these. */
function objectsIn(given: unknown): JsonObject {
  return isObject(given) ? Object.fromEntries(Object.entries(given).filter(([, one]) => isObject(one))) : {};
}

function infoOf(given: unknown): JsonObject {
  const info = isObject(given) ? given : {};
  const { name = 'unknown', version = '0' } = info;
  return { ...info, name: String(name), version: String(version) };
}

/** The modes of elicitation alone. */
function modesOf(capability: unknown): JsonObject {
  const all = isObject(capability) ? capability : {};
  return Object.fromEntries(['form', 'url'].flatMap((mode) => (isObject(all[mode]) ? [[mode, {}]] : [])));
}

/** What the id of a session that the gateway holds says. */
export function factsOf(text: string): SealedSession {
  return JSON.parse(text) as SealedSession;
}

export class ClientSessions {
  readonly #held = new LruCache<ClientSession>(MOST_SESSIONS);
  readonly #ended = new LruCache<true>(MOST_SESSIONS);

  /** Of the parameters of `initialize`. */
  begin(version: string, params: JsonObject): SealedSession {
    const sid = randomUUID();
    const capabilities = objectsIn(params.capabilities);
    const info = infoOf(params.clientInfo);
    const whole = { sid, version, capabilities, info };
    if (JSON.stringify(whole).length <= MOST_FACTS) return whole;
    // What is too long to be carried is left to its names.
    const short = Object.fromEntries(
      ['elicitation', 'sampling', 'roots'].flatMap((one) =>
        one in capabilities ? [[one, modesOf(capabilities[one])]] : [],
      ),
    );
    const { name = '', version: own = '' } = info;
    return {
      sid,
      version,
      capabilities: short,
      info: { name: String(name).slice(0, 200), version: String(own).slice(0, 50) },
    };
  }

  /** The session of an id; undefined: it was ended. */
  of(text: string): ClientSession | undefined {
    const facts = factsOf(text);
    if (this.#ended.get(facts.sid)) return undefined;
    let held = this.#held.get(facts.sid);
    if (held === undefined) {
      held = {
        ...facts,
        waiting: new Map(),
        running: new Map(),
        watched: new Set(),
        logLevel: undefined,
        rewatch: undefined,
        tellTask: undefined,
      };
      this.#held.set(facts.sid, held);
    }
    return held;
  }

  end(session: ClientSession): void {
    for (const stop of session.running.values()) stop();
    this.#held.delete(session.sid);
    this.#ended.set(session.sid, true);
  }
}
