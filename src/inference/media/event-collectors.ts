// What the events of a form's answer say: the final text or the finished images, and the usage.
import type { JsonObject, Message } from '@bufbuild/protobuf';
import { SseParser } from '../../lib/sse.ts';
import { imagesUsage } from '../../providers/images.ts';
import { parsedObject } from '../../providers/json-object.ts';
import { operationRow } from '../../providers/operations.ts';
import type { UsageReport } from '../../providers/usage/report.ts';
import { transcriptionUsage } from '../../providers/usage/transcription-usage.ts';
import { codec } from '../../rest/codec.ts';
import type { FormName } from './form-name.ts';

/** Collects the events of one answer. */
export interface EventCollector {
  push(bytes: Uint8Array): void;
  readonly usage: UsageReport;
  /** The whole answer. */
  message(): Message;
}

/** @param request decides how images are priced */
export function eventCollector(name: FormName, request: object): EventCollector {
  return name === 'imageEdits' ? new ImageCollector(request) : new TranscriptCollector(name);
}

/** A transcript. */
class TranscriptCollector implements EventCollector {
  readonly #parser = new SseParser();
  readonly #name: FormName;
  #deltas = '';
  #done: string | undefined;
  usage: UsageReport;

  constructor(name: FormName) {
    this.#name = name;
  }

  push(bytes: Uint8Array): void {
    for (const event of eventsIn(this.#parser, bytes)) {
      if (typeof event.delta === 'string') this.#deltas += event.delta;
      if (event.type === 'transcript.text.done' && typeof event.text === 'string') this.#done = event.text;
      this.usage = transcriptionUsage(codec, event) ?? this.usage;
    }
  }

  message(): Message {
    return codec.decode(operationRow(this.#name).answer, { text: this.#done ?? this.#deltas });
  }
}

/** Images: unfinished ones pass. */
class ImageCollector implements EventCollector {
  readonly #parser = new SseParser();
  readonly #request: object;
  readonly #finished: JsonObject[] = [];

  constructor(request: object) {
    this.#request = request;
  }

  push(bytes: Uint8Array): void {
    for (const event of eventsIn(this.#parser, bytes))
      if (typeof event.type === 'string' && event.type.endsWith('.completed')) this.#finished.push(event);
  }

  get usage(): UsageReport {
    const last = this.#finished.at(-1);
    return last && imagesUsage(codec, { ...last, data: this.#finished }, this.#request);
  }

  message(): Message {
    const { type: _type, created_at: created = 0, b64_json: _bytes, ...rest } = this.#finished.at(-1) ?? {};
    const data = this.#finished.map(({ b64_json: bytes, url }) => ({
      ...(bytes === undefined ? {} : { b64_json: bytes }),
      ...(url === undefined ? {} : { url }),
    }));
    return codec.decode(operationRow('imageEdits').answer, { ...rest, created, data });
  }
}

function* eventsIn(parser: SseParser, bytes: Uint8Array): Generator<JsonObject> {
  for (const { data } of parser.push(bytes)) {
    const event = parsedObject(data);
    if (event !== undefined) yield event;
  }
}
