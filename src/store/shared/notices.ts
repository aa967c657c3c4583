// Change notices: a hint that a document has a new version. Delivery is at most once; who missed some is told.
import { checkId, checkWhole } from './bounds.ts';

export interface Notice {
  readonly organisationId: string;
  readonly collection: string;
  readonly id: string;
  readonly version: number;
}

/** `missed`: the line was down, notices may be lost; read again what matters. */
export type NoticeEvent = { readonly kind: 'changed'; readonly notice: Notice } | { readonly kind: 'missed' };

/** Must not throw; what it throws is dropped. */
export type NoticeListener = (event: NoticeEvent) => void;

/** Listeners of one instance. */
export interface Listeners {
  add(listener: NoticeListener): () => void;
  tell(event: NoticeEvent): void;
}

export function createListeners(): Listeners {
  const all = new Set<{ readonly listener: NoticeListener }>();
  return {
    add: (listener) => {
      const entry = { listener };
      all.add(entry);
      return () => {
        all.delete(entry);
      };
    },
    tell: (event) => {
      for (const { listener } of all) {
        try {
          listener(event);
        } catch {
          // One listener's fault must not keep a change from the others.
        }
      }
    },
  };
}

export function checkNotice(notice: Notice): void {
  checkId('organisationId', notice.organisationId);
  checkId('collection', notice.collection);
  checkId('id', notice.id);
  checkWhole('version', notice.version, 0, Number.MAX_SAFE_INTEGER);
}
