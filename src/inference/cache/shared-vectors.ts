// Vectors in the store that instances share, where it can compare them; else in this process, of which the first
// call that asks learns.
import type { SharedState } from '../../store/shared-state.ts';
import { createGuard, READ_MS } from './shared-answers.ts';
import type { VectorStore } from './vectors.ts';

export interface SharedVectorOptions {
  readonly state: SharedState;
  /** Most bytes of an organisation's vectors. */
  readonly maxBytes: number;
  /** Where they are kept when the shared store cannot compare them. */
  readonly local: VectorStore;
}

/** Opens the shared store. */
export function createSharedVectors({ state, maxBytes, local }: SharedVectorOptions): VectorStore {
  const guard = createGuard();
  const deadline = { deadlineMs: READ_MS };
  /** Until the server says otherwise; a server of another version is met by the next process. */
  let supported = true;

  return {
    async near(org, scope, vector, most) {
      if (supported) {
        const near = await guard(() => state.nearVectors(org, { scope, vector, most }, deadline)).catch(
          () => undefined,
        );
        if (near?.supported !== false) return near?.found ?? [];
        supported = false;
      }
      return local.near(org, scope, vector, most);
    },

    async add(org, scope, kept) {
      if (supported) {
        const added = await guard(() => state.addVector(org, { ...kept, scope, maxBytes }, deadline)).catch(
          () => undefined,
        );
        if (added?.supported !== false) return;
        supported = false;
      }
      await local.add(org, scope, kept);
    },

    async remove(org, scope, id) {
      if (!supported) await local.remove(org, scope, id);
      else await guard(() => state.removeVector(org, { scope, id }, deadline)).catch(() => undefined);
    },
  };
}
