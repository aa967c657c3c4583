// The events of one call on their way out: the response is kept before its last event goes, and a stream that breaks
// ends with an event of its own.
import type { JsonObject } from '@bufbuild/protobuf';
import { type ResponseEvent, ResponseEventSchema } from '../../../gen/gateway/inference/v2/responses_pb.ts';
import { type GatewayError, toGatewayError, toldAlready } from '../../lib/errors.ts';
import { rawJsonOf } from '../../lib/raw-json.ts';
import { type Batched, BatchedIterator, batched, Run } from '../../lib/runs.ts';
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

function isLife(event: ResponseEvent | Run<ResponseEvent>): event is ResponseEvent {
  return !(event instanceof Run) && LIFE.test(typeOf(event));
}

function isEnd(event: ResponseEvent | Run<ResponseEvent>): boolean {
  return !(event instanceof Run) && END.test(typeOf(event));
}

/** @param previous the response that this one follows, where the gateway put that in its place */
export function toldEvents(
  events: AsyncIterable<ResponseEvent>,
  keeper: Keeper,
  previous: string | undefined,
): AsyncIterable<ResponseEvent> {
  return new ToldEvents(batched(events[Symbol.asyncIterator]()), keeper, previous);
}

class ToldEvents extends BatchedIterator<ResponseEvent> {
  readonly #events: Batched<ResponseEvent>;
  readonly #keeper: Keeper;
  readonly #previous: string | undefined;
  readonly #log = new Told();
  /** Whether anything becomes of what events tell. */
  readonly #keeps: boolean;
  #first: ResponseEvent | undefined;
  #last: ResponseEvent | Run<ResponseEvent> | undefined;
  #noted: Promise<void> | undefined;
  /** An event of the response's life: what it tells is kept before it goes. */
  #life: ResponseEvent | undefined;
  #ready: ResponseEvent | Run<ResponseEvent> | undefined;
  #failure: GatewayError | undefined;
  #left = false;

  constructor(events: Batched<ResponseEvent>, keeper: Keeper, previous: string | undefined) {
    super();
    this.#events = events;
    this.#keeper = keeper;
    this.#previous = previous;
    this.#keeps = previous !== undefined || keeper.isAsked || keeper.isRemembered;
  }

  async more(): Promise<boolean> {
    if (this.#ready !== undefined) return true;
    if (this.#failure !== undefined) throw this.#failure;
    try {
      while (this.#ready === undefined && !this.#left) {
        if (this.#life !== undefined) await this.#tell(this.#life);
        else if (this.#read() === undefined && !(await this.#events.more())) return false;
      }
      return !this.#left;
    } catch (thrown) {
      this.#ready = this.#failed(toGatewayError(thrown));
      return true;
    }
  }

  take(): ResponseEvent | Run<ResponseEvent> | undefined {
    if (this.#ready === undefined && this.#failure === undefined && this.#life === undefined) this.#read();
    const ready = this.#ready;
    this.#ready = undefined;
    return ready;
  }

  async return(): Promise<IteratorResult<ResponseEvent, undefined>> {
    this.#left = true;
    await this.#events.return?.();
    return { done: true, value: undefined };
  }

  /** The next event at hand; undefined: there is none. */
  #read(): ResponseEvent | Run<ResponseEvent> | undefined {
    const event = this.#events.take();
    if (event === undefined) return undefined;
    this.#last = event;
    if (this.#keeps && isLife(event)) {
      this.#life = event;
      return event;
    }
    if (this.#first === undefined && isLife(event)) this.#first = event;
    this.#log.push(event);
    this.#ready = event;
    return event;
  }

  async #tell(event: ResponseEvent): Promise<void> {
    const [type, keeper, previous] = [typeOf(event), this.#keeper, this.#previous];
    this.#life = undefined;
    this.#first ??= event;
    const json = jsonOf(codec, ResponseEventSchema, event);
    const response = objectOf(json.response);
    const told =
      previous === undefined || response === undefined ? event : following(json, response, previous);
    // While it is made it can be read and stopped at its provider.
    if (type === 'response.created' && keeper.isAsked && keeper.isElsewhere && response !== undefined)
      this.#noted = keeper.note(String(response.id));
    if (type === 'response.created') this.#log.isKept = keeper.isAsked && !keeper.isElsewhere;
    this.#log.push(told);
    if (END.test(type) && response !== undefined) {
      await this.#noted;
      const kept = objectOf(jsonOf(codec, ResponseEventSchema, told).response) ?? response;
      await keeper.keep(kept, this.#log.texts);
    }
    this.#ready = told;
  }

  /** The last event of a stream that broke. @throws GatewayError what broke it, where nothing has gone out */
  #failed(error: GatewayError): ResponseEvent {
    const [first, last] = [this.#first, this.#last];
    if (first === undefined || error.reason === 'client_closed') throw error;
    if (error.details.told && last !== undefined && isEnd(last)) throw error;
    this.#failure = toldAlready(error);
    return failedEvent(first, last instanceof Run ? last.at(last.count - 1) : (last ?? first), error);
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

  push(event: ResponseEvent | Run<ResponseEvent>): void {
    if (!this.isKept) return;
    if (event instanceof Run) for (let at = 0; at < event.count; at++) this.#add(event.jsonOf(at));
    else {
      const raw = rawJsonOf(event);
      this.#add(typeof raw === 'string' ? raw : JSON.stringify(jsonOf(codec, ResponseEventSchema, event)));
    }
  }

  #add(text: string): void {
    if (!this.isKept) return;
    this.#length += text.length;
    this.texts.push(text);
    if (this.#length <= MOST_LOGGED) return;
    this.isKept = false;
    this.texts = [];
  }
}
