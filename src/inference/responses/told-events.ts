// The events of one call on their way out: the response is kept before its last event goes, and a stream that breaks
// ends with an event of its own.
import type { JsonObject } from '@bufbuild/protobuf';
import { type ResponseEvent, ResponseEventSchema } from '../../../gen/gateway/inference/v2/responses_pb.ts';
import { GatewayError, toGatewayError } from '../../lib/errors.ts';
import { rawJsonOf } from '../../lib/raw-json.ts';
import { jsonOf } from '../../providers/forms/json-of.ts';
import { eventMessage } from '../../providers/forms/responses/pieces.ts';
import { objectOf } from '../../providers/json-object.ts';
import { codec } from '../../rest/codec.ts';
import { MOST_LOGGED } from './event-log.ts';
import { failedEvent } from './failed-event.ts';
import type { Keeper } from './keep.ts';

const TYPE = /^\{"type":"([a-z_.]{1,64})"/;
const LIFE = /^response\.(?:created|in_progress|queued|completed|incomplete|failed|cancelled)$/;
const END = /^response\.(?:completed|incomplete|failed|cancelled)$/;

/** The type, from the text where it stands first: reading an event costs more than passing it on. */
function typeOf(event: ResponseEvent): string {
  const raw = rawJsonOf(event);
  const known = typeof raw === 'string' ? TYPE.exec(raw)?.[1] : undefined;
  return known ?? event.type;
}

/** @param previous the response that this one follows, where the gateway put that in its place */
export async function* toldEvents(
  events: AsyncIterable<ResponseEvent>,
  keeper: Keeper,
  previous: string | undefined,
): AsyncGenerator<ResponseEvent, void> {
  let [first, last]: (ResponseEvent | undefined)[] = [];
  let noted: Promise<void> | undefined;
  const log = new Told();
  try {
    for await (const event of events) {
      const type = typeOf(event);
      last = event;
      if (!LIFE.test(type)) {
        log.push(event);
        yield event;
        continue;
      }
      first ??= event;
      const json = jsonOf(codec, ResponseEventSchema, event);
      const response = objectOf(json.response);
      const told =
        previous === undefined || response === undefined ? event : following(json, response, previous);
      // While it is made it can be read and stopped at its provider.
      if (type === 'response.created' && keeper.isAsked && keeper.isElsewhere && response !== undefined)
        noted = keeper.note(String(response.id));
      if (type === 'response.created') log.isKept = keeper.isAsked && !keeper.isElsewhere;
      log.push(told);
      if (END.test(type) && response !== undefined) {
        await noted;
        const kept = objectOf(jsonOf(codec, ResponseEventSchema, told).response) ?? response;
        await keeper.keep(kept, log.texts);
      }
      yield told;
    }
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (first === undefined || error.reason === 'client_closed') throw error;
    yield failedEvent(first, last ?? first, error);
    throw new GatewayError(error.reason, error.message, { ...error.details, told: true, cause: error.cause });
  }
}

function following(json: JsonObject, response: JsonObject, previous: string): ResponseEvent {
  return eventMessage(codec, { ...json, response: { ...response, previous_response_id: previous } });
}

/** The events of a response that is kept here, as long as they can be. */
class Told {
  isKept = false;
  texts: string[] = [];
  #length = 0;

  push(event: ResponseEvent): void {
    if (!this.isKept) return;
    const raw = rawJsonOf(event);
    const text = typeof raw === 'string' ? raw : JSON.stringify(jsonOf(codec, ResponseEventSchema, event));
    this.#length += text.length;
    this.texts.push(text);
    if (this.#length <= MOST_LOGGED) return;
    this.isKept = false;
    this.texts = [];
  }
}
