// Session ids of clients of the older revisions. An id is the upstream's own, sealed for one caller at one server: it
// needs no memory, holds after a restart and at every instance, and opens for no other key.
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import type { Principal } from '../call/principal.ts';

/** The contents of a session id. */
export interface SessionRef {
  /** `relay`: the upstream's own session. `held`: one that this process holds. */
  readonly kind: 'relay' | 'held';
  readonly id: string;
  /** Of a relayed session: its client opens addresses (elicitation in the mode `url`). */
  readonly opensUrls?: true;
}

const CIPHER = 'aes-256-gcm';
const NONCE = 12;
const TAG = 16;
const PREFIX = 'mcp1_';
const FORM = /^mcp1_[A-Za-z0-9_-]{40,4096}$/;
/** Longest id of an upstream. */
export const MOST_SESSION_ID = 2048;

export class SessionIds {
  readonly #key: KeyObject;

  /** @param secret 32 bytes, the same for all instances */
  constructor(secret: Uint8Array) {
    this.#key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'mcp session ids', 32)));
  }

  seal({ kind, id, opensUrls }: SessionRef, serverId: string, principal: Principal): string {
    const nonce = randomBytes(NONCE);
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG });
    cipher.setAAD(Buffer.from(ownerOf(serverId, principal)));
    const text = `${kind === 'held' ? 'h' : opensUrls ? 'u' : 'r'}${id}`;
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return PREFIX + sealed.toString('base64url');
  }

  /** Undefined for what is no id of this caller at this server. */
  open(text: string, serverId: string, principal: Principal): SessionRef | undefined {
    if (!FORM.test(text)) return undefined;
    const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
    if (bytes.length <= NONCE + TAG) return undefined;
    try {
      const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE), { authTagLength: TAG });
      decipher.setAAD(Buffer.from(ownerOf(serverId, principal)));
      decipher.setAuthTag(bytes.subarray(-TAG));
      const plain = Buffer.concat([
        decipher.update(bytes.subarray(NONCE, -TAG)),
        decipher.final(),
      ]).toString();
      const id = plain.slice(1);
      if (plain[0] === 'h') return { kind: 'held', id };
      return { kind: 'relay', id, ...(plain[0] === 'u' ? { opensUrls: true } : {}) };
    } catch {
      return undefined;
    }
  }
}

/** The caller as sessions are bound to: a person of a token, else the key itself. */
export function callerOf({ organisationId, workspaceId, keyId, userId, token }: Principal): string {
  const who = token === undefined ? ['key', keyId] : ['user', userId ?? token.user ?? keyId];
  return JSON.stringify([organisationId, workspaceId, ...who]);
}

function ownerOf(serverId: string, principal: Principal): string {
  return JSON.stringify([serverId, callerOf(principal)]);
}
