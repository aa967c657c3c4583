// A streamed answer of the chat form as events of a response.
import type { JsonObject } from '@bufbuild/protobuf';
import type { ChatCompletionChunk } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { Usage } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import {
  type ResponseEvent,
  ResponseEventSchema,
} from '../../../../gen/gateway/inference/v2/responses_pb.ts';
import type { FoundEvents } from '../../../lib/found-events.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { Run } from '../../../lib/runs.ts';
import { NUMBER, RunShape, ShapedRun } from '../../../lib/shaped-run.ts';
import type { MessageJson } from '../../dialect.ts';
import type { UsageReport } from '../../usage/report.ts';
import { type PieceTranslator, saysTextAlone, TEXT_HOLE } from '../form.ts';
import { logprobsOf } from './logprobs.ts';
import type { Tell } from './output.ts';
import { responseUsage } from './usage.ts';
import { ResponseWriter, type WriterDeps } from './writer.ts';

const TEXT = 'response.output_text.delta';

/** Translates the chunks of one answer. */
export class ResponsePieces implements PieceTranslator<ResponseEvent> {
  readonly #json: MessageJson;
  readonly #writer: ResponseWriter;
  readonly #now: () => number;
  #events: ResponseEvent[] = [];
  #number = 0;
  #begun = false;
  #model = '';
  #tier: string | undefined;
  #finish: string | undefined;
  #usage: Usage | undefined;
  /** The last chunk, and how many events told of it. */
  #last: ChatCompletionChunk | undefined;
  #told = 0;

  constructor(json: MessageJson, deps: (tell: Tell) => WriterDeps, now: () => number) {
    this.#json = json;
    this.#now = now;
    this.#writer = new ResponseWriter(deps((type, members) => this.#tell(type, members)));
  }

  push(chunk: ChatCompletionChunk): readonly ResponseEvent[] {
    this.#last = chunk;
    if (chunk.model !== '') this.#model = chunk.model;
    this.#begin();
    const { choices, usage, serviceTier } = chunk;
    if (serviceTier) this.#tier = serviceTier;
    if (usage !== undefined) this.#usage = usage;
    // One answer is asked for.
    const choice = choices.find(({ index }) => index === 0);
    if (choice !== undefined) {
      if (choice.delta !== undefined) this.#writer.push(choice.delta, logprobsOf(choice.logprobs));
      if (choice.finishReason) this.#finish ??= choice.finishReason;
    }
    return this.#take();
  }

  again(): ((found: FoundEvents) => Run<ResponseEvent>) | undefined {
    const last = this.#last;
    if (last === undefined || this.#told !== 1 || !saysTextAlone(last)) return undefined;
    if (last.choices[0]?.logprobs !== undefined) return undefined;
    const open = this.#writer.openText();
    if (open === undefined) return undefined;
    const parts = [
      `{"type":"${TEXT}","sequence_number":`,
      ',"content_index":0,"delta":"',
      `","logprobs":[],"item_id":${JSON.stringify(open.id)},"output_index":${open.at}}`,
    ];
    const read = (text: string) => eventMessage(this.#json, JSON.parse(text) as JsonObject);
    const shape = new RunShape(TEXT, parts, [NUMBER, TEXT_HOLE], read);
    return (found) => {
      const run = new ShapedRun(shape, found, this.#number);
      this.#number += run.count;
      open.add(run.text);
      return run;
    };
  }

  end(report?: UsageReport): readonly ResponseEvent[] {
    this.#begin();
    const counts = report === 'refused' ? undefined : (report ?? this.#usage);
    const now = Math.floor(this.#now() / 1000);
    const response = this.#writer.end(this.#finish, this.#model, this.#tier, responseUsage(counts), now);
    this.#tell(response.status === 'incomplete' ? 'response.incomplete' : 'response.completed', { response });
    return this.#take();
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    // Nothing is in its output yet.
    const response = JSON.stringify(this.#writer.snapshot(this.#model));
    for (const type of ['response.created', 'response.in_progress']) {
      const text = `{"type":"${type}","sequence_number":${this.#number++},"response":${response}}`;
      this.#events.push(messageOf(this.#json, text, { type, delta: undefined }));
    }
  }

  #tell(type: string, members: JsonObject): void {
    const event: JsonObject = { type, sequence_number: this.#number++, ...members };
    this.#events.push(eventMessage(this.#json, event));
  }

  #take(): readonly ResponseEvent[] {
    const events = this.#events;
    this.#events = [];
    this.#told = events.length;
    return events;
  }
}

/** An event as a message with its JSON, and at hand what the books read of every event. */
export function eventMessage(json: MessageJson, event: JsonObject): ResponseEvent {
  const { type, delta } = event;
  const isPlain = typeof type === 'string' && (delta === undefined || typeof delta === 'string');
  // The text is written now: what an event tells of goes on to change.
  return messageOf(json, JSON.stringify(event), isPlain ? { type, delta } : undefined);
}

/** @param known what is at hand of it */
function messageOf(
  json: MessageJson,
  text: string,
  known: { readonly type: string; readonly delta: string | undefined } | undefined,
): ResponseEvent {
  const read = (): ResponseEvent => json.decode(ResponseEventSchema, JSON.parse(text));
  return attachRawJson(lazyMessage(ResponseEventSchema, read, known), text);
}
