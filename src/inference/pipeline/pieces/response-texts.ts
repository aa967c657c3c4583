// The texts of one streamed response as they come: pieces, and what an item or the whole response says when it is done
// that no piece said before. Some providers send an item's text only then.
import {
  type ResponseEvent,
  ResponseEventSchema,
} from '../../../../gen/gateway/inference/v2/responses_pb.ts';
import type { Increment } from '../../../checks/stream/stream-guard.ts';
import { responseBody } from '../../../checks/view/body-of.ts';
import { jsonOf } from '../../../providers/forms/json-of.ts';
import { arrayOf, isObject, objectOf } from '../../../providers/json-object.ts';
import { codec } from '../../../rest/codec.ts';

const DONE = 'response.output_item.done';
const END = /^response\.(?:completed|incomplete|failed|cancelled)$/;
const KINDS: readonly Increment['kind'][] = ['content', 'reasoning', 'tool_call'];

/** Reads the events of one stream, in order. */
export class ResponseTexts {
  readonly #pieces: (event: ResponseEvent) => readonly Increment[];
  /** Characters that came of an item, by its place and their kind. */
  readonly #seen = new Map<string, number>();

  /** @param pieces the texts of an event without those before it */
  constructor(pieces: (event: ResponseEvent) => readonly Increment[]) {
    this.#pieces = pieces;
  }

  of(event: ResponseEvent): readonly Increment[] {
    const { type, outputIndex: at = 0 } = event;
    if (type === DONE) return this.#unseen(objectOf(jsonOf(codec, ResponseEventSchema, event).item), at);
    if (END.test(type)) {
      const { output } = objectOf(jsonOf(codec, ResponseEventSchema, event).response) ?? {};
      return arrayOf(output).flatMap((item, i) => this.#unseen(objectOf(item), i));
    }
    const increments = this.#pieces(event);
    for (const { kind, text } of increments) this.#note(at, kind, text.length);
    return increments;
  }

  #unseen(item: Readonly<Record<string, unknown>> | undefined, at: number): readonly Increment[] {
    if (!isObject(item)) return [];
    const { slots } = responseBody('responses', { output: [item] });
    return KINDS.flatMap((kind) => {
      const text = slots.flatMap((slot) => (slot.kind === kind ? [slot.text] : [])).join('');
      const rest = text.slice(this.#seen.get(`${at} ${kind}`) ?? 0);
      if (rest === '') return [];
      this.#note(at, kind, rest.length);
      const { name } = item;
      const named = kind === 'tool_call' && typeof name === 'string' ? { name } : {};
      return [{ unit: 0, kind, ...(kind === 'tool_call' ? { call: at } : {}), ...named, text: rest }];
    });
  }

  #note(at: number, kind: string, length: number): void {
    const key = `${at} ${kind}`;
    this.#seen.set(key, (this.#seen.get(key) ?? 0) + length);
  }
}
