// A worker that echoes, hangs for a while and dies when it is told to.
import type { Reply } from '../../src/store/sqlite/protocol.ts';
import { serve } from '../../src/store/sqlite/worker-loop.ts';

export type FragileCall = { readonly echo: number } | { readonly hangMs: number } | { readonly die: true };

serve<FragileCall>(4, () => (group) => {
  const replies: Reply[] = [];
  for (const [id, , call] of group) {
    if ('die' in call) throw new Error('told to die');
    if ('hangMs' in call) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, call.hangMs);
    replies.push([id, 'echo' in call ? call.echo : null]);
  }
  return replies;
});
