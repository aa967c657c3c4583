// The event grammar of Responses, as official clients check it: order, numbers, and that the events put together by
// OpenAI's own client say what the last one says.
import type { JsonObject } from '@bufbuild/protobuf';
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator';
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses';

/** Faults of a stream's events; none: it keeps to the grammar. */
export function faultsOf(events: readonly JsonObject[]): string[] {
  const faults: string[] = [];
  const types = events.map(({ type }) => String(type));
  if (types[0] !== 'response.created' || types[1] !== 'response.in_progress') faults.push('beginning');
  if (!/^response\.(?:completed|incomplete|failed)$/.test(types.at(-1) ?? '')) faults.push('end');
  if (types.filter((type) => /^response\.(?:completed|incomplete|failed|created)$/.test(type)).length !== 2)
    faults.push('beginning or end repeated');
  events.forEach((event, i) => {
    if (event.sequence_number !== i) faults.push(`number of event ${i}`);
  });
  const open = new Map<unknown, string>();
  let added = 0;
  for (const { type, output_index: at, item_id: of, item } of events) {
    if (type === 'response.output_item.added') {
      if (at !== added++) faults.push(`place ${at} out of order`);
      open.set(at, String((item as JsonObject).id));
    } else if (type === 'response.output_item.done') {
      if (!open.delete(at)) faults.push(`item ${at} done before it began`);
    } else if (of !== undefined && open.get(at) !== of) faults.push(`${type} of an item that is not open`);
  }
  if (open.size > 0 && types.at(-1) !== 'response.failed') faults.push('items left open');
  return faults;
}

/** The output that OpenAI's own client puts together from the events before the last. */
export function folded(events: readonly JsonObject[]): unknown {
  let snapshot: Response | undefined;
  for (const event of events.slice(0, -1))
    snapshot = accumulateResponse(event as unknown as ResponseStreamEvent, snapshot as never);
  return JSON.parse(JSON.stringify(snapshot?.output ?? null));
}
