// Commands that a running embedded gateway executes: no other process has its data open.
import type { Logger } from 'pino';
import { rotateDataKeys } from '../access/rotate-command.ts';
import {
  type ControlCommand,
  type ControlSocket,
  controlPath,
  listenControl,
} from '../lib/control-socket.ts';
import type { Settings } from '../settings.ts';
import type { Stores } from './stores.ts';

/** A write that was encrypted before its key changed is made within its deadline, or not at all. */
const OWN_WRITES_MS = 6000;

/** Takes them until it is closed; undefined, and a warning, where that is not possible. */
export async function openControl(
  { dataDir }: Settings,
  { rotation }: Stores,
  log: Logger,
  more: Readonly<Record<string, ControlCommand>> = {},
): Promise<ControlSocket | undefined> {
  try {
    return await listenControl(controlPath(dataDir), {
      'rotate-encryption': (say, signal) =>
        rotateDataKeys({ ...rotation, settleMs: OWN_WRITES_MS, say }, signal),
      ...more,
    });
  } catch (error) {
    log.warn({ err: error }, 'commands for the running gateway are not taken: it has to be stopped for them');
    return undefined;
  }
}
