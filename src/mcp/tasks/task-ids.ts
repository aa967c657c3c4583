// Ids of tasks as callers have them. A server may know all callers by one credential: its own id is sealed for the caller
// and the server, with the tool that the task is of. The same task has the same id each time.
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';
import type { Principal } from '../../call/principal.ts';
import { LruCache } from '../../lib/lru-cache.ts';
import { callerOf } from '../session-ids.ts';

/** A task at its server. */
export interface TaskRef {
  readonly id: string;
  readonly tool: string;
  /** The server's session that it was made in, where the client has none of its own; undefined: any of the caller's. */
  readonly session?: string | undefined;
}

/** A task that a caller has named. */
export interface OpenedTask extends TaskRef {
  /** As the caller names it. */
  readonly shown: string;
}

const CIPHER = 'aes-256-gcm';
const NONCE = 12;
const TAG = 16;
const PREFIX = 'mcpt1_';
const FORM = /^mcpt1_[A-Za-z0-9_-]{38,8192}$/;
/** Longest id of a server, in characters. */
const MOST_ID = 1024;
/** Longest id of a session that is kept with a task, in characters. */
const MOST_SESSION = 256;
/** Tasks whose tools are remembered, for lists and notices. */
const MOST_KNOWN = 50_000;

export class TaskIds {
  readonly #key: KeyObject;
  readonly #nonceKey: Buffer;
  readonly #known = new LruCache<TaskRef>(MOST_KNOWN);

  /** @param secret 32 bytes, the same for all instances */
  constructor(secret: Uint8Array) {
    const derived = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
    this.#key = createSecretKey(derived('mcp task ids'));
    this.#nonceKey = derived('mcp task ids: nonces');
  }

  /** Those of one caller at one server. */
  of(serverId: string, principal: Principal): CallerTasks {
    return new CallerTasks(this, JSON.stringify([serverId, callerOf(principal)]));
  }

  seal(owner: string, ref: TaskRef): string {
    const { id, tool, session } = ref;
    const text = JSON.stringify(session === undefined ? [id, tool] : [id, tool, session]);
    // Made of the text: the same id is sealed the same each time, and no nonce is used for two texts.
    const nonce = createHmac('sha256', this.#nonceKey).update(`${owner} ${text}`).digest().subarray(0, NONCE);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG });
    cipher.setAAD(Buffer.from(owner));
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    this.#known.set(`${owner} ${id}`, ref);
    return PREFIX + sealed.toString('base64url');
  }

  /** Undefined for what is no task of this owner. */
  open(owner: string, text: string): TaskRef | undefined {
    if (!FORM.test(text)) return undefined;
    const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE), { authTagLength: TAG });
      decipher.setAAD(Buffer.from(owner));
      decipher.setAuthTag(bytes.subarray(-TAG));
      const plain = Buffer.concat([decipher.update(bytes.subarray(NONCE, -TAG)), decipher.final()]);
      const [id, tool, session] = JSON.parse(plain.toString()) as [string, string, string | undefined];
      const ref = { id, tool, session };
      this.#known.set(`${owner} ${id}`, ref);
      return ref;
    } catch {
      return undefined;
    }
  }

  /** A task that this process has seen of this owner, by the server's id. */
  known(owner: string, id: string): TaskRef | undefined {
    return this.#known.get(`${owner} ${id}`);
  }
}

/** The tasks of one caller at one server. */
export class CallerTasks {
  readonly #ids: TaskIds;
  readonly #owner: string;

  constructor(ids: TaskIds, owner: string) {
    this.#ids = ids;
    this.#owner = owner;
  }

  /** The id for the caller; undefined for one that cannot be kept. */
  seal(id: unknown, tool: string, session?: string): string | undefined {
    if (typeof id !== 'string' || id === '' || id.length > MOST_ID) return undefined;
    const kept = session !== undefined && session.length <= MOST_SESSION ? session : undefined;
    return this.#ids.seal(this.#owner, { id, tool, session: kept });
  }

  open(text: unknown): TaskRef | undefined {
    return typeof text === 'string' ? this.#ids.open(this.#owner, text) : undefined;
  }

  /** A task of the caller by the server's id; undefined for any other. */
  known(id: unknown): TaskRef | undefined {
    return typeof id === 'string' ? this.#ids.known(this.#owner, id) : undefined;
  }
}
