// The events of a kept response again: those that it was told by, from any of them on, and of one that is being made the
// further ones as they come, whichever process makes it.
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '@bufbuild/protobuf';
import type { ResponseEvent } from '../../../gen/gateway/inference/v2/responses_pb.ts';
import type { Call } from '../../call/call.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { rawJsonOf } from '../../lib/raw-json.ts';
import { eventsOf } from '../../providers/forms/responses/events-of.ts';
import { messageOf } from '../../providers/forms/responses/form.ts';
import { eventMessage } from '../../providers/forms/responses/pieces.ts';
import { codec } from '../../rest/codec.ts';
import { isOver } from './background-run.ts';
import type { BackgroundRuns } from './background-runs.ts';
import { numberOf } from './event-log.ts';
import type { KeptResponse, KeptResponses } from './kept-responses.ts';
import { ownerOf } from './resolve.ts';

/** Between two looks at a response that another process makes, in milliseconds. */
const LOOK_MS = 500;
const END = /^\{"type":"response\.(?:completed|incomplete|failed|cancelled)"/;

/** What they are read from. */
export interface KeptEventsDeps {
  readonly kept: KeptResponses;
  readonly runs: BackgroundRuns;
}

/** @param after only events with a higher number @throws GatewayError store_unavailable */
export async function* keptEvents(
  deps: KeptEventsDeps,
  call: Call,
  id: string,
  found: KeptResponse,
  after: number | undefined,
): AsyncGenerator<ResponseEvent, void> {
  const run = deps.runs.get(ownerOf(call), id);
  const texts = run === undefined ? storedTexts(deps, call, id, found) : run.log.read();
  let at = -1;
  let end: string | undefined;
  for await (const text of texts) {
    at = numberOf(text) ?? at + 1;
    if (after === undefined || at > after) yield eventMessage(codec, JSON.parse(text));
    else if (END.test(text)) end = text;
  }
  if (run?.isGone === true) throw goesOn(id);
  if (end === undefined || after === undefined || !(await isCut(deps, call, id))) return;
  yield eventMessage(codec, { ...(JSON.parse(end) as JsonObject), sequence_number: after + 1 });
}

/** Whether events may have been told that have the numbers of others now. */
async function isCut({ kept }: KeptEventsDeps, call: Call, id: string): Promise<boolean> {
  return (await kept.get(ownerOf(call), id))?.whole?.isCut === true;
}

/** What ends a stream whose response another process makes from now on. */
export function goesOn(id: string): GatewayError {
  return fail(
    'overloaded',
    `the gateway stops here, and the response goes on: read it with GET /responses/${id}?stream=true&starting_after= and the last sequence number`,
  );
}

async function* storedTexts(
  { kept, runs }: KeptEventsDeps,
  call: Call,
  id: string,
  found: KeptResponse,
): AsyncGenerator<string, void> {
  const owner = ownerOf(call);
  let now: KeptResponse | undefined = found;
  let last: string | undefined;
  for (let part = 0; ; ) {
    // Looked at first: all events of a response that is over are kept.
    const isDone = now?.whole === undefined || isOver(now.whole.response);
    const texts = await kept.events(owner, id, part);
    if (texts !== undefined) {
      yield* texts;
      last = texts.at(-1) ?? last;
      part++;
      continue;
    }
    if (isDone) break;
    if (call.signal.aborted) throw call.signal.reason;
    await sleep(LOOK_MS);
    const again = await kept.get(owner, id);
    now = again && (await runs.settled(owner, id, again));
  }
  if (now?.whole === undefined || (last !== undefined && END.test(last))) return;
  const events = eventsOf(codec, messageOf(codec, now.whole.response)).map((event) =>
    String(rawJsonOf(event)),
  );
  if (last === undefined) return yield* events;
  // Its process died before its end was told.
  const ending = JSON.parse(events.at(-1)!) as object;
  yield JSON.stringify({ ...ending, sequence_number: (numberOf(last) ?? 0) + 1 });
}
