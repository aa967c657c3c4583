// Which gone processes' lines are all in the books. A hold of such a process that no line tells of is of a call that
// never reached a provider: lines are written before a provider can see the call.
import type { SharedState } from '../../store/shared-state.ts';

/** Where the list is kept: it belongs to no organisation. */
const PLACE = 'flights';
const KEY = 'replayed';
/** Processes that are remembered: their holds are swept within minutes. */
const KEPT = 500;
const TRIES = 10;

/** Records that a process's lines are complete and all in the books. @throws GatewayError store_unavailable */
export async function markReplayed(
  state: Pick<SharedState, 'readValue' | 'writeValue'>,
  owner: string,
): Promise<void> {
  let { version, value } = await state.readValue(PLACE, { key: KEY });
  for (let tries = 0; tries < TRIES; tries++) {
    const owners = ownersIn(value).filter((other) => other !== owner);
    const next = [...owners, owner].slice(-KEPT).join(' ');
    const written = await state.writeValue(PLACE, { key: KEY, version, value: next });
    if (written.written) return;
    ({ version, value } = written);
  }
}

/** Owners whose lines are all in the books. @throws GatewayError store_unavailable */
export async function readReplayed(state: Pick<SharedState, 'readValue'>): Promise<ReadonlySet<string>> {
  const { value } = await state.readValue(PLACE, { key: KEY });
  return new Set(ownersIn(value));
}

function ownersIn(value: string | undefined): string[] {
  return value === undefined || value === '' ? [] : value.split(' ');
}
