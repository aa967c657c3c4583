// Commands on the books that a running embedded gateway executes, because it alone has its data open.
import type { ControlCommand } from '../lib/control-socket.ts';
import { type ReRateParts, readReRateOrder, reRateAll } from './re-rate.ts';
import { readVerifyOrder, type VerifyParts, verifyLedger } from './verify.ts';

export function ledgerCommands(
  parts: Omit<VerifyParts, 'say'> & Omit<ReRateParts, 'say' | 'log'>,
): Readonly<Record<string, ControlCommand>> {
  return {
    verify: (say, _, argument) => verifyLedger({ ...parts, say }, readVerifyOrder(JSON.parse(argument))),
    're-rate': async (say, signal, argument) => {
      const order = readReRateOrder(JSON.parse(argument), Date.now());
      await reRateAll({ ...parts, log: parts.requestLog, say }, order, signal);
      return true;
    },
  };
}
