// Arguments and results of tool calls, kept as bodies of calls are.
import type { Call } from '../../call/call.ts';

/** Whether a workspace's bodies, and the words of its errors, are kept. */
export interface BodyRules {
  readonly keepsBodies: (workspaceId: string | undefined) => boolean;
  readonly keepsWords: (workspaceId: string | undefined) => boolean;
}

/** From here on, unless the caller wants none to be kept. */
export function keepBodies(
  call: Call,
  workspaceId: string | undefined,
  { keepsBodies, keepsWords }: BodyRules,
): void {
  const isSilent = call.headers.get('debug') === 'false';
  call.wordless = isSilent || !keepsWords(workspaceId);
  if (isSilent || !keepsBodies(workspaceId)) return;
  call.bodies = {
    request: undefined,
    response: undefined,
    sent: undefined,
    received: undefined,
    hooks: undefined,
    targets: [],
    passing: {},
    secrets: () => (call.presentedKey === undefined ? [] : [call.presentedKey]),
  };
}
