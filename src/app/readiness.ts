// Whether the gateway can serve calls: its stores answer, its disks take what is written, it is not stopping.
import { diskProbe } from '../lib/disk-probe.ts';
import type { Base } from './base.ts';
import { writtenFolders } from './stores.ts';
import { within } from './within.ts';

const READY_WITHIN_MS = 2000;

export interface Readiness {
  /** Why no call should come; undefined: the gateway is ready. */
  readonly unready: () => Promise<string | undefined>;
  /** Whether each store answers. */
  readonly stores: {
    readonly documents: () => Promise<boolean>;
    readonly shared?: () => Promise<boolean>;
  };
  /** From now on it is not ready. */
  readonly drain: () => void;
}

export function readiness({
  settings,
  stores: { store, state },
}: Pick<Base, 'settings' | 'stores'>): Readiness {
  const diskFault = diskProbe({ folders: writtenFolders(settings) });
  const stores = {
    documents: () => within(READY_WITHIN_MS, store.ready()),
    ...(state && { shared: () => within(READY_WITHIN_MS, state.ready()) }),
  };
  let draining = false;
  return {
    stores,
    drain: () => {
      draining = true;
    },
    async unready() {
      if (draining) return 'draining';
      if (!(await stores.documents())) return 'the document store does not answer';
      if (stores.shared && !(await stores.shared())) return 'the shared store does not answer';
      return diskFault();
    },
  };
}
