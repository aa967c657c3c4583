// Keys that other instances made, changed or archived: the ring follows their notices.
import type { DocumentStore } from '../store/documents.ts';
import type { Notice, SharedState } from '../store/shared-state.ts';
import { apiKeys } from './collections.ts';
import type { KeyRing } from './key-ring.ts';
import { keyRecord, loadKeys } from './keys.ts';

/** What following needs. */
export interface FollowFacts {
  readonly state: Pick<SharedState, 'subscribe'>;
  readonly documents: DocumentStore;
  readonly organisationId: string;
  readonly ring: KeyRing;
  /** Told when a change could not be read; the next one, or a restart, puts it right. */
  readonly onError: (error: unknown) => void;
}

/** Follows until the returned function is called. A line that was down is made good by reading all keys again. */
export function followKeys({ state, documents, organisationId, ring, onError }: FollowFacts): () => void {
  const read = async (notice: Notice): Promise<void> => {
    const scope = { organisationId: notice.organisationId, workspaceId: undefined };
    const document = await documents.get(scope, apiKeys, notice.id, { archived: true });
    if (document === undefined || document.status === 'archived') ring.remove(notice.id, notice.version);
    else ring.put(keyRecord(document));
  };
  return state.subscribe((event) => {
    if (event.kind === 'missed') loadKeys(documents, organisationId, ring).catch(onError);
    else if (event.notice.collection === apiKeys.name) read(event.notice).catch(onError);
  });
}
