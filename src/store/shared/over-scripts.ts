// The port over something that runs scripts: arguments are checked here, once for both adapters.
import type { SharedState } from '../shared-state.ts';
import { checkAdmit } from './admit.ts';
import { checkId } from './bounds.ts';
import { checkCacheRead, checkCacheWrite } from './cache.ts';
import { checkCircuit, checkCircuitCall } from './circuit.ts';
import { checkBudget, checkCorrection, checkRenew, checkSweep, withFree } from './holds.ts';
import { checkAcknowledge, checkAppend, checkClaim } from './journal.ts';
import { checkLease, checkLeaseRelease } from './lease.ts';
import type { ArgsOf, ResultOf, RunScript, ScriptName } from './scripts.ts';
import { checkSettle } from './settle.ts';
import { checkValue, checkValueWrite } from './value.ts';
import { checkVectorAdd, checkVectorNear, checkVectorRemoval } from './vectors.ts';

/** What differs between adapters in addition to the scripts. */
export type StoreEnds = Pick<SharedState, 'publish' | 'subscribe' | 'ready' | 'close'>;

export function sharedStateOver(run: RunScript, ends: StoreEnds): SharedState {
  /** One method: its check, then its script. */
  const method =
    <N extends ScriptName>(name: N, check: (args: ArgsOf<N>) => void) =>
    async (
      organisationId: string,
      args: ArgsOf<N>,
      options?: { readonly deadlineMs?: number },
    ): Promise<ResultOf<N>> => {
      checkId('organisationId', organisationId);
      check(args);
      return run(name, organisationId, args, options?.deadlineMs);
    };
  const settle = method('settle', checkSettle);
  const readBudget = method('readBudget', checkBudget);
  const readJournal = method('readJournal', () => undefined);

  return {
    ...ends,
    admit: method('admit', checkAdmit),
    settle: (org, request, options) => settle(org, { ...request, unnamed: 'as_held' }, options),
    release: (org, { refund, ...request }, options) =>
      settle(org, { ...request, unnamed: refund ? 'refunded' : 'uncharged' }, options),
    renew: method('renew', checkRenew),
    sweep: method('sweep', checkSweep),
    readBudget: async (org, request, options) => withFree(request, await readBudget(org, request, options)),
    correctBudget: method('correctBudget', checkCorrection),
    appendJournal: method('appendJournal', checkAppend),
    claimJournal: method('claimJournal', checkClaim),
    acknowledgeJournal: method('acknowledgeJournal', checkAcknowledge),
    readJournal: (org, options) => readJournal(org, null, options),
    acquireLease: method('acquireLease', checkLease),
    renewLease: method('renewLease', checkLease),
    releaseLease: method('releaseLease', checkLeaseRelease),
    readValue: method('readValue', checkValue),
    writeValue: method('writeValue', checkValueWrite),
    allowCircuit: method('allowCircuit', checkCircuitCall),
    reportCircuit: method('reportCircuit', checkCircuitCall),
    readCircuit: method('readCircuit', checkCircuit),
    readCache: method('readCache', checkCacheRead),
    writeCache: method('writeCache', checkCacheWrite),
    removeCache: method('removeCache', ({ key }) => {
      checkId('key', key);
    }),
    addVector: method('addVector', checkVectorAdd),
    nearVectors: method('nearVectors', checkVectorNear),
    removeVector: method('removeVector', checkVectorRemoval),
  };
}
