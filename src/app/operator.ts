// A key for the operator's own commands: lent to who may read the data folder, as long as the command lasts.
import { randomUUID } from 'node:crypto';
import type { Tenancy } from '../access/bootstrap.ts';
import type { KeyRing } from '../access/key-ring.ts';
import { scopesOf } from '../access/scopes.ts';
import type { ControlCommand } from '../lib/control-socket.ts';

/** Where the gateway is, and what it is called with. */
export interface Operator {
  readonly url: string;
  readonly key: string;
}

/** Lends a key of the first organisation with all scopes. It is stored nowhere. */
export function lendOperatorKey(
  keys: KeyRing,
  { organisationId }: Tenancy,
): { readonly key: string; readonly takeBack: () => void } {
  return keys.lend({
    organisationId,
    workspaceId: undefined,
    keyId: randomUUID(),
    keyName: 'operator',
    kind: 'organisation-service',
    scopes: new Set(scopesOf('organisation-service')),
  });
}

/** The control socket's command: tells the address and a key, which counts until the caller leaves. */
export function operatorCommand(keys: KeyRing, tenancy: Tenancy, url: () => string): ControlCommand {
  return (say, signal) =>
    new Promise((resolve) => {
      const { key, takeBack } = lendOperatorKey(keys, tenancy);
      say(JSON.stringify({ url: url(), key } satisfies Operator));
      const end = (): void => {
        takeBack();
        resolve(true);
      };
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    });
}
