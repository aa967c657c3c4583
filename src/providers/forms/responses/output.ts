// The output of one response while it is made: items in order, and the events that tell of them. Whole answers are
// made by the same steps without telling, so that the fold of a stream is the whole answer.
import type { JsonObject } from '@bufbuild/protobuf';
import { parsedObject } from '../../json-object.ts';
import { customInput } from './conversation.ts';
import type { ToolKind, ToolKinds } from './tools.ts';

/** Told of one event, without its sequence number. */
export type Tell = (type: string, members: JsonObject) => void;

interface Open {
  /** Its place in the output; of a call that was not told of yet, undecided. */
  at: number;
  readonly item: JsonObject;
  text: string;
}

interface OpenMessage extends Open {
  readonly kind: 'output_text' | 'refusal';
  readonly annotations: JsonObject[];
  readonly logprobs: JsonObject[];
}

/** A text to which more is added without telling. */
export interface OpenText {
  /** Of its item, and the item's place. */
  readonly id: string;
  readonly at: number;
  add(text: string): void;
}

interface OpenCall extends Open {
  kind: ToolKind | undefined;
  name: string;
  id: string;
}

/** Puts the items of one response together. */
export class Output {
  readonly items: JsonObject[] = [];
  readonly #key: string;
  readonly #kinds: ToolKinds;
  readonly #tell: Tell | undefined;
  #reasoning: Open | undefined;
  #message: OpenMessage | undefined;
  readonly #calls = new Map<number, OpenCall>();

  /** @param key of the response's id, of which the items' ids are made @param tell absent: the answer comes whole */
  constructor(key: string, kinds: ToolKinds, tell: Tell | undefined) {
    this.#key = key;
    this.#kinds = kinds;
    this.#tell = tell;
  }

  /** A piece of what the model thought; empty: there is only what goes back to the wire. */
  thinks(text: string): void {
    this.#endMessage();
    const open = this.#reasoning ?? this.#beginReasoning();
    if (text === '') return;
    if (open.text === '') {
      this.#say('response.reasoning_summary_part.added', open, {
        summary_index: 0,
        part: { type: 'summary_text', text: '' },
      });
    }
    open.text += text;
    this.#say('response.reasoning_summary_text.delta', open, { summary_index: 0, delta: text });
  }

  /** Ends what is thought. @param packed what goes back to the wire */
  thought(packed: string | undefined): void {
    const open = this.#reasoning;
    if (open === undefined) return;
    this.#reasoning = undefined;
    if (open.text !== '') {
      const part = { type: 'summary_text', text: open.text };
      this.#say('response.reasoning_summary_text.done', open, { summary_index: 0, text: open.text });
      this.#say('response.reasoning_summary_part.done', open, { summary_index: 0, part });
      open.item.summary = [part];
    }
    if (packed !== undefined) open.item.encrypted_content = packed;
    this.#done(open);
  }

  get isThinking(): boolean {
    return this.#reasoning !== undefined;
  }

  /** A piece of the answer's text. */
  says(text: string, logprobs: readonly JsonObject[] = []): void {
    const open = this.#messageOf('output_text');
    open.text += text;
    open.logprobs.push(...logprobs);
    this.#say('response.output_text.delta', open, {
      content_index: 0,
      delta: text,
      logprobs: [...logprobs],
    });
  }

  /** The text that is open; undefined: there is none. */
  openText(): OpenText | undefined {
    const open = this.#message;
    if (open?.kind !== 'output_text') return undefined;
    const add = (text: string): void => {
      open.text += text;
    };
    return { id: String(open.item.id), at: open.at, add };
  }

  refuses(text: string): void {
    const open = this.#messageOf('refusal');
    open.text += text;
    this.#say('response.refusal.delta', open, { content_index: 0, delta: text });
  }

  /** A source of the text. */
  annotates(annotation: JsonObject): void {
    const open = this.#messageOf('output_text');
    const told = { content_index: 0, annotation_index: open.annotations.length, annotation };
    open.annotations.push(annotation);
    this.#say('response.output_text.annotation.added', open, told);
  }

  /** Whether a call has begun. */
  hasCall(index: number): boolean {
    return this.#calls.has(index);
  }

  /** A piece of a call: the first one has its name. */
  calls(index: number, id: string | undefined, name: string | undefined, piece: string): void {
    this.#endMessage();
    const open = this.#calls.get(index) ?? this.#beginCall(index);
    if (id !== undefined && id !== '' && open.kind === undefined) open.id = id;
    if (name !== undefined && open.kind === undefined) open.name += name;
    if (open.kind === undefined && (piece !== '' || open.name !== '')) this.#tellCall(open);
    if (piece === '') return;
    open.text += piece;
    // A free-form tool's input is known once its function's arguments are.
    if (open.kind === 'function') this.#say('response.function_call_arguments.delta', open, { delta: piece });
  }

  /** An image, as the one of OpenAI's own tool for them. @param result base64 */
  shows(result: string): void {
    this.#endMessage();
    const { at, id } = this.#next('ig');
    const item: JsonObject = { id, type: 'image_generation_call', status: 'in_progress', result: null };
    const open: Open = { at, item, text: '' };
    this.#begin(open);
    this.#say('response.image_generation_call.in_progress', open, {});
    this.#say('response.image_generation_call.completed', open, {});
    item.status = 'completed';
    item.result = result;
    this.#done(open);
  }

  /** Ends all that is open. @param complete whether the model came to its end */
  end(complete: boolean): void {
    this.#endMessage(complete);
    for (const open of this.#calls.values()) this.#endCall(open, complete);
    this.#calls.clear();
  }

  #beginReasoning(): Open {
    const { at, id } = this.#next('rs');
    const open: Open = { at, item: { id, type: 'reasoning', summary: [] }, text: '' };
    this.#begin(open);
    this.#reasoning = open;
    return open;
  }

  #messageOf(kind: OpenMessage['kind']): OpenMessage {
    if (this.#message?.kind === kind) return this.#message;
    this.#endMessage();
    const { at, id } = this.#next('msg');
    const item: JsonObject = { id, type: 'message', status: 'in_progress', role: 'assistant', content: [] };
    const open: OpenMessage = { at, item, text: '', kind, annotations: [], logprobs: [] };
    this.#begin(open);
    this.#message = open;
    this.#say('response.content_part.added', open, { content_index: 0, part: partOf(open) });
    return open;
  }

  #endMessage(complete = true): void {
    const open = this.#message;
    if (open === undefined) return;
    this.#message = undefined;
    const part = partOf(open);
    if (open.kind === 'refusal')
      this.#say('response.refusal.done', open, { content_index: 0, refusal: open.text });
    else
      this.#say('response.output_text.done', open, {
        content_index: 0,
        text: open.text,
        logprobs: open.logprobs,
      });
    this.#say('response.content_part.done', open, { content_index: 0, part });
    open.item.content = [part];
    open.item.status = complete ? 'completed' : 'incomplete';
    this.#done(open);
  }

  #beginCall(index: number): OpenCall {
    const open: OpenCall = { at: -1, item: {}, text: '', kind: undefined, name: '', id: '' };
    this.#calls.set(index, open);
    return open;
  }

  /** Told once its name is known: the name says of which kind it is. */
  #tellCall(open: OpenCall): void {
    open.kind = this.#kinds.get(open.name) ?? 'function';
    open.at = this.items.length;
    const { at, item, name } = open;
    const call_id = open.id || `call_${this.#key}${three(at)}`;
    const own: JsonObject =
      open.kind === 'function'
        ? {
            id: this.#idOf('fc', at),
            type: 'function_call',
            status: 'in_progress',
            call_id,
            name,
            arguments: '',
          }
        : open.kind === 'custom'
          ? {
              id: this.#idOf('ctc', at),
              type: 'custom_tool_call',
              status: 'in_progress',
              call_id,
              name,
              input: '',
            }
          : {
              id: this.#idOf('lsh', at),
              type: 'local_shell_call',
              status: 'in_progress',
              call_id,
              action: { type: 'exec', command: [], env: {} },
            };
    Object.assign(item, own);
    this.#begin(open);
  }

  #endCall(open: OpenCall, complete: boolean): void {
    if (open.kind === undefined) this.#tellCall(open);
    const { item, text, kind, name } = open;
    item.status = complete ? 'completed' : 'incomplete';
    if (kind === 'custom') {
      const input = customInput(text);
      if (input !== '') this.#say('response.custom_tool_call_input.delta', open, { delta: input });
      this.#say('response.custom_tool_call_input.done', open, { input });
      item.input = input;
    } else if (kind === 'local_shell')
      item.action = { type: 'exec', command: [], env: {}, ...parsedObject(text) };
    else {
      // Clients parse it: a call without arguments is an empty object.
      const isBare = text === '' && complete;
      if (isBare) this.#say('response.function_call_arguments.delta', open, { delta: '{}' });
      item.arguments = isBare ? '{}' : text;
      this.#say('response.function_call_arguments.done', open, { name, arguments: item.arguments });
    }
    this.#done(open);
  }

  #next(prefix: string): { readonly at: number; readonly id: string } {
    const at = this.items.length;
    return { at, id: this.#idOf(prefix, at) };
  }

  #idOf(prefix: string, at: number): string {
    return `${prefix}_${this.#key}${three(at)}`;
  }

  #begin({ at, item }: Open): void {
    this.items[at] = item;
    this.#tell?.('response.output_item.added', { output_index: at, item: { ...item } });
  }

  #done({ at, item }: Open): void {
    this.#tell?.('response.output_item.done', { output_index: at, item: { ...item } });
  }

  #say(type: string, { at, item }: Open, members: JsonObject): void {
    if (this.#tell === undefined) return;
    members.item_id = item.id!;
    members.output_index = at;
    this.#tell(type, members);
  }
}

function partOf({ kind, text, annotations, logprobs }: OpenMessage): JsonObject {
  if (kind === 'refusal') return { type: 'refusal', refusal: text };
  return { type: 'output_text', text, annotations: [...annotations], logprobs: [...logprobs] };
}

/** A place as three digits. */
function three(at: number): string {
  return at.toString(16).padStart(3, '0');
}
