// Items as chat messages. What an assistant said, thought and called between two turns of others is one message.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { invalidField } from '../../../lib/errors.ts';
import { isHeavyText } from '../../../lib/heavy-event.ts';
import { arrayOf, isObject, objectOf, parsedObject, textOf } from '../../json-object.ts';
import type { Carries } from '../ability.ts';
import { assistantText, chatContent, stringOf, tellUnread } from './content.ts';
import type { Drops } from './dropped.ts';
import { type Packed, takesBack, unpack } from './packed.ts';
import { INPUT } from './tools.ts';

/** Before images of an earlier answer. */
const IMAGES_MADE = 'What your answer showed:';

/** To whom the conversation goes. */
export interface Wire {
  /** The provider's dialect. */
  readonly dialect: string;
  readonly provider: string;
}

/** With what it can carry. */
export interface AbleWire extends Wire {
  readonly carries: Pick<Carries, 'toolMedia' | 'oneTool'>;
}

/** An assistant's message that is being put together. */
interface Draft {
  text: string | undefined;
  refusal: string;
  reasoning: string;
  readonly details: JsonObject[];
  extra: JsonObject | undefined;
  readonly calls: JsonObject[];
  readonly blocks: JsonObject[];
  /** That it made, in the words of a user's. */
  readonly images: JsonObject[];
}

/** Translates one conversation. */
export class Conversation {
  readonly messages: JsonObject[] = [];
  readonly #wire: AbleWire;
  readonly #drops: Drops;
  /** Google's signatures of calls, by the calls' ids. */
  readonly #signed = new Map<string, JsonObject>();
  #draft: Draft | undefined;
  /** Images and files of results, for the message after all results: the wire takes none in a result. */
  #media: JsonObject[] = [];

  constructor(wire: AbleWire, drops: Drops) {
    this.#wire = wire;
    this.#drops = drops;
  }

  system(text: string): void {
    if (text !== '') this.#push({ role: 'system', content: text });
  }

  /** @throws GatewayError validation_failed naming the item that cannot be expressed */
  input(input: JsonValue | undefined): void {
    if (typeof input === 'string') this.#push({ role: 'user', content: input });
    const items = arrayOf(input);
    for (const item of items) if (isObject(item)) this.#noteSignatures(item);
    items.forEach((item, i) => {
      if (!isObject(item)) throw invalidField(`input[${i}]`, 'must be an object');
      this.#item(item, `input[${i}]`);
    });
    this.#settle();
    this.#show();
  }

  #noteSignatures(item: JsonObject): void {
    if (item.type !== 'reasoning') return;
    const packed = unpack(item.encrypted_content);
    if (packed?.calls === undefined || !takesBack(this.#wire.dialect, packed)) return;
    for (const [id, extra] of Object.entries(packed.calls)) this.#signed.set(id, extra);
  }

  #item(item: JsonObject, path: string): void {
    switch (item.type ?? 'message') {
      case 'message':
        this.#message(item, path);
        break;
      case 'reasoning':
        this.#reasoning(item, path);
        break;
      case 'function_call':
        this.#call(item, stringOf(item.name), this.#arguments(item, path));
        break;
      case 'custom_tool_call':
        this.#call(item, stringOf(item.name), JSON.stringify({ [INPUT]: stringOf(item.input) }));
        break;
      case 'local_shell_call':
        this.#call(item, 'local_shell', JSON.stringify(shellArguments(item.action)));
        break;
      case 'function_call_output':
      case 'custom_tool_call_output':
      case 'local_shell_call_output':
        this.#output(item, path);
        break;
      case 'image_generation_call':
        this.#image(item, path);
        break;
      case 'item_reference':
        throw invalidField(`${path}.id`, 'names an item that this gateway does not have');
      default:
        this.#drops.add(path, stringOf(item.type));
    }
  }

  #message(item: JsonObject, path: string): void {
    const role = textOf(item.role) ?? 'user';
    tellUnread(item.content, this.#drops);
    if (role === 'assistant') {
      const { text, refusal } = assistantText(item.content);
      const draft = this.#drafted();
      if (text !== '') draft.text = draft.text === undefined ? text : `${draft.text}\n\n${text}`;
      draft.refusal += refusal;
      return;
    }
    if (role !== 'user' && role !== 'system' && role !== 'developer')
      throw invalidField(`${path}.role`, 'must be "user", "assistant", "system" or "developer"');
    const content = chatContent(item.content, `${path}.content`, this.#wire.dialect);
    if (content === '' || (Array.isArray(content) && content.length === 0)) return;
    // Only OpenAI's own models know developers; to all others they are the system.
    this.#push({ role: role === 'user' ? 'user' : 'system', content });
  }

  /** An image that the model made: no chat wire takes one in an assistant's message, so the user shows it again. */
  #image({ result, output_format: format }: JsonObject, path: string): void {
    if (!textOf(result)) {
      this.#drops.add(path, 'image_generation_call');
      return;
    }
    const url = `data:image/${textOf(format) ?? imageKind(stringOf(result))};base64,${stringOf(result)}`;
    this.#drafted().images.push({ type: 'image_url', image_url: { url } });
  }

  #reasoning(item: JsonObject, path: string): void {
    const packed = unpack(item.encrypted_content);
    if (packed === undefined) {
      // Encrypted by another service: no other can read it. Without it there is nothing that a wire would take back.
      if (item.encrypted_content) this.#drops.add(path, 'reasoning of another service');
      else if ([item.summary, item.content].some((parts) => arrayOf(parts).length > 0))
        this.#drops.add(path, 'reasoning');
      return;
    }
    if (!takesBack(this.#wire.dialect, packed)) {
      this.#drops.add(path, `reasoning of ${packed.provider}`);
      return;
    }
    this.#unpacked(this.#drafted(), packed);
  }

  #unpacked(draft: Draft, { blocks, reasoning, details, message, provider }: Packed): void {
    if (blocks !== undefined) draft.blocks.push(...blocks);
    if (message !== undefined) draft.extra = { ...draft.extra, extra_content: message };
    // Other services of the wire refuse members that they do not know.
    if (provider !== this.#wire.provider) return;
    if (details !== undefined) draft.details.push(...details);
    if (reasoning !== undefined) draft.reasoning += reasoning;
  }

  /** What a model wrote that is no object: only OpenAI's wire takes it, and the conversation goes on elsewhere, too. */
  #arguments(item: JsonObject, path: string): string {
    const text = stringOf(item.arguments) || '{}';
    if (this.#wire.dialect === 'openai' || isHeavyText(text) || parsedObject(text) !== undefined) return text;
    this.#drops.add(`${path}.arguments`, 'no JSON object');
    return JSON.stringify({ arguments: text });
  }

  #call(item: JsonObject, name: string, text: string): void {
    const id = stringOf(item.call_id) || stringOf(item.id);
    this.#drafted().calls.push({
      id,
      type: 'function',
      function: { name, arguments: text },
      ...this.#signed.get(id),
    });
  }

  #output(item: JsonObject, path: string): void {
    const id = stringOf(item.call_id) || stringOf(item.id);
    if (id === '') throw invalidField(`${path}.call_id`, 'is required');
    const content = chatContent(item.output, `${path}.output`, this.#wire.dialect);
    this.#settle();
    this.messages.push({ role: 'tool', tool_call_id: id, content: this.#resultOf(id, content) });
  }

  /** Texts alone are one: not every wire takes parts in a result. */
  #resultOf(id: string, content: JsonValue): JsonValue {
    if (!Array.isArray(content)) return content;
    const parts = content.filter(isObject);
    const texts = parts.filter(({ type }) => type === 'text');
    if (texts.length < parts.length) {
      if (this.#wire.carries.toolMedia) return content;
      const others = parts.filter(({ type }) => type !== 'text');
      this.#media.push({ type: 'text', text: `Content of the result of ${id}:` }, ...others);
    }
    return texts.map(({ text }) => stringOf(text)).join('\n');
  }

  #drafted(): Draft {
    this.#draft ??= {
      text: undefined,
      refusal: '',
      reasoning: '',
      details: [],
      extra: undefined,
      calls: [],
      blocks: [],
      images: [],
    };
    return this.#draft;
  }

  #push(message: JsonObject): void {
    this.#settle();
    this.#show();
    this.messages.push(message);
  }

  /** What results had in addition to texts is said by the user, after all of them. */
  #show(): void {
    if (this.#media.length > 0) this.messages.push({ role: 'user', content: this.#media });
    this.#media = [];
  }

  /** Ends the assistant's message. What was only thought is no message. */
  #settle(): void {
    const draft = this.#draft;
    this.#draft = undefined;
    if (draft === undefined) return;
    const { images } = draft;
    this.#say(draft);
    if (images.length > 0) this.#media.push({ type: 'text', text: IMAGES_MADE }, ...images);
  }

  #say({ text, refusal, reasoning, details, extra, calls, blocks }: Draft): void {
    if (text === undefined && refusal === '' && calls.length === 0) return;
    this.#show();
    this.messages.push({
      role: 'assistant',
      content: text ?? null,
      ...(refusal === '' ? {} : { refusal }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      // Services that show what a model thought want it back within the turn of a call, and refuse it elsewhere.
      ...(reasoning === '' || calls.length === 0 ? {} : { reasoning_content: reasoning }),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      ...(blocks.length === 0 ? {} : { content_blocks: blocks }),
      ...extra,
    });
  }
}

/** The kind of an image by its first bytes, for services that take the word of its address for it. */
function imageKind(base64: string): string {
  if (base64.startsWith('/9j/')) return 'jpeg';
  if (base64.startsWith('UklGR')) return 'webp';
  return base64.startsWith('R0lG') ? 'gif' : 'png';
}

function shellArguments(action: JsonValue | undefined): JsonObject {
  const { type: _, ...members } = objectOf(action) ?? {};
  return members;
}

/** A free-form call's input from its function's arguments; what is no such object is the input itself. */
export function customInput(text: string): string {
  const input = parsedObject(text)?.[INPUT];
  return typeof input === 'string' ? input : text;
}
