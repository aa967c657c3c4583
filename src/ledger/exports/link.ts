// Signed addresses with an expiry: which export of which tenant, until when, and a seal that only the gateway can make.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { TenantScope } from '../../call/scope.ts';

/** What an address is for. */
export interface ExportLink {
  readonly scope: TenantScope;
  readonly exportId: string;
  /** Unix milliseconds. */
  readonly until: number;
}

/** How long an address is valid. */
export const LINK_MS = 15 * 60_000;
const MAX_LENGTH = 2048;

/** Makes and reads the last part of addresses. */
export class ExportLinks {
  readonly #key: Buffer;

  /** @param secret of the deployment: all instances have the same */
  constructor(secret: Uint8Array) {
    this.#key = createHmac('sha256', secret).update('log export links').digest();
  }

  make({ scope, exportId, until }: ExportLink): string {
    const content = [scope.organisationId, scope.workspaceId ?? '', exportId, until];
    const text = Buffer.from(JSON.stringify(content), 'utf8').toString('base64url');
    return `${text}.${this.#seal(text).toString('base64url')}`;
  }

  /** Undefined for an address that is unknown, altered, or expired. */
  read(token: string, now: number): ExportLink | undefined {
    const [text = '', seal = '', ...more] = token.split('.');
    if (token.length > MAX_LENGTH || more.length > 0) return undefined;
    const [given, right] = [Buffer.from(seal, 'base64url'), this.#seal(text)];
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
    const [organisationId, workspaceId, exportId, until] = JSON.parse(
      Buffer.from(text, 'base64url').toString('utf8'),
    ) as [string, string, string, number];
    if (until <= now) return undefined;
    const scope = { organisationId, workspaceId: workspaceId === '' ? undefined : workspaceId };
    return { scope, exportId, until };
  }

  #seal(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest();
  }
}
