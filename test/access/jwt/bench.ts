// Tokens with everything real around them: a directory, the egress dialer, a clock that can be moved.

import { Directory } from '../../../src/access/directory.ts';
import type { JwtSettingsBody } from '../../../src/access/jwt/collection.ts';
import { Tokens } from '../../../src/access/jwt/tokens.ts';
import { parseAllowList } from '../../../src/lib/egress/allow-list.ts';
import { createDialer } from '../../../src/lib/egress/dialer.ts';
import type { Document } from '../../../src/store/documents.ts';
import { applyDocument } from '../../support/apply-document.ts';
import { ORGANISATION, OTHER_ORGANISATION } from './issuer.ts';

export const WORKSPACE = '7c1d0000-0000-4000-8000-00000000000a';
export const OTHER_WORKSPACE = '7c1d0000-0000-4000-8000-00000000000b';

let made = 0;

export function document<B extends object>(facts: Partial<Document<B>> & { body: B }): Document<B> {
  made++;
  return {
    id: `document-${made}`,
    organisationId: ORGANISATION,
    version: 1,
    status: 'active',
    createdAt: made,
    updatedAt: made,
    schemaVersion: 1,
    ...facts,
  };
}

export interface TokenBench {
  readonly tokens: Tokens;
  readonly directory: Directory;
  readonly troubles: unknown[];
  /** Moves the clock on. */
  pass(ms: number): void;
  /** Takes settings, of the first organisation unless told otherwise. */
  configure(settings: Partial<JwtSettingsBody>, organisationId?: string): Document<JwtSettingsBody>;
  close(): Promise<void>;
}

/** @param allow the egress allow list */
export function tokenBench(allow = '127.0.0.1/32'): TokenBench {
  const directory = new Directory();
  for (const [organisationId, workspaceId] of [
    [ORGANISATION, WORKSPACE],
    [OTHER_ORGANISATION, OTHER_WORKSPACE],
  ] as const) {
    const body = { handle: organisationId, name: 'Organisation' };
    applyDocument(directory, 'organisations', document({ id: organisationId, organisationId, body }));
    applyDocument(
      directory,
      'workspaces',
      document({ id: workspaceId, organisationId, slug: 'default', body: { name: 'Default' } }),
    );
  }
  const dialer = createDialer({ allow: parseAllowList(allow) });
  const troubles: unknown[] = [];
  let moved = 0;
  let versions = 0;
  const tokens = new Tokens({
    dialer,
    directory,
    now: () => Date.now() + moved,
    onTrouble: (_, error) => troubles.push(error),
  });
  return {
    tokens,
    directory,
    troubles,
    pass: (ms) => {
      moved += ms;
    },
    configure(settings, organisationId = ORGANISATION) {
      const body = { issuers: [], audiences: [], algorithms: [], ...settings };
      versions++;
      const id = `jwt-of-${organisationId}`;
      const settled = document({ id, version: versions, organisationId, slug: 'jwt', body });
      tokens.replica.apply(settled);
      return settled;
    },
    close: () => dialer.close(),
  };
}
