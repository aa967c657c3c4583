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
}

const CIPHER = 'aes-256-gcm';
const NONCE = 12;
const TAG = 16;
const PREFIX = 'mcpt1_';
const FORM = /^mcpt1_[A-Za-z0-9_-]{38,8192}$/;
/** Longest id of a server, in characters. */
const MOST_ID = 1024;
/** Tasks whose tools are remembered, for lists and notices. */
const MOST_KNOWN = 50_000;

export class TaskIds {
  readonly #key: KeyObject;
  readonly #nonceKey: Buffer;
  readonly #tools = new LruCache<string>(MOST_KNOWN);

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

  seal(owner: string, { id, tool }: TaskRef): string {
    const text = JSON.stringify([id, tool]);
    // Made of the text: the same id is sealed the same each time, and no nonce is used for two texts.
    const nonce = createHmac('sha256', this.#nonceKey).update(`${owner} ${text}`).digest().subarray(0, NONCE);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG });
    cipher.setAAD(Buffer.from(owner));
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    this.#tools.set(`${owner} ${id}`, tool);
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
      const [id, tool] = JSON.parse(plain.toString()) as [string, string];
      this.#tools.set(`${owner} ${id}`, tool);
      return { id, tool };
    } catch {
      return undefined;
    }
  }

  /** The tool of a task that this process has seen of this owner. */
  toolOf(owner: string, id: string): string | undefined {
    return this.#tools.get(`${owner} ${id}`);
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
  seal(id: unknown, tool: string): string | undefined {
    if (typeof id !== 'string' || id === '' || id.length > MOST_ID) return undefined;
    return this.#ids.seal(this.#owner, { id, tool });
  }

  open(text: unknown): TaskRef | undefined {
    return typeof text === 'string' ? this.#ids.open(this.#owner, text) : undefined;
  }

  /** The tool of a task of the caller; undefined for any other. */
  toolOf(id: unknown): string | undefined {
    return typeof id === 'string' ? this.#ids.toolOf(this.#owner, id) : undefined;
  }
}
