// A streamed chat or text completion put together from its pieces, as it would have come whole: for the log.
import type { Assembled } from './piece-form.ts';

interface Delta {
  readonly role?: string;
  readonly content?: string;
  readonly refusal?: string;
  readonly toolCalls?: readonly ToolPiece[];
}

interface ToolPiece {
  readonly index?: number;
  readonly id?: string;
  readonly type?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

interface PieceChoice {
  readonly index?: number;
  readonly delta?: Delta;
  readonly text?: string;
  readonly finishReason?: string;
}

interface Piece {
  readonly id?: string;
  readonly model?: string;
  readonly created?: bigint | number;
  readonly choices?: readonly PieceChoice[];
}

interface ToolCall {
  id: string;
  type: string;
  name: string;
  arguments: string;
}

interface Choice {
  text: string | undefined;
  content: string | undefined;
  refusal: string | undefined;
  readonly tools: ToolCall[];
  finishReason: string | null;
}

/** Text that is kept of one answer, in UTF-16 units. */
const MAX_TEXT = 1024 * 1024;

/** Takes the pieces of a chat or text completion. */
export class AssembledChoices implements Assembled {
  #id = '';
  #model = '';
  #created = 0;
  #size = 0;
  readonly #choices: (Choice | undefined)[] = [];

  push(part: object): void {
    const { id, model, created, choices } = part as Piece;
    if (this.#id === '') {
      this.#id = id ?? '';
      this.#created = Number(created ?? 0);
    }
    if (model) this.#model = model;
    if (choices === undefined || this.#size > MAX_TEXT) return;
    for (const choice of choices) this.#add(choice);
  }

  #add({ index = 0, delta, text, finishReason }: PieceChoice): void {
    if (index < 0 || index > 127) return;
    this.#choices[index] ??= {
      text: undefined,
      content: undefined,
      refusal: undefined,
      tools: [],
      finishReason: null,
    };
    const own = this.#choices[index];
    if (finishReason && finishReason !== own.finishReason) own.finishReason = this.#counted(finishReason);
    if (text) own.text = (own.text ?? '') + this.#counted(text);
    if (delta === undefined) return;
    if (delta.content) own.content = (own.content ?? '') + this.#counted(delta.content);
    if (delta.refusal) own.refusal = (own.refusal ?? '') + this.#counted(delta.refusal);
    for (const piece of delta.toolCalls ?? []) this.#addTool(own.tools, piece);
  }

  #addTool(tools: ToolCall[], { index = tools.length, id, type, function: called }: ToolPiece): void {
    if (index < 0 || index > 127) return;
    tools[index] ??= { id: '', type: 'function', name: '', arguments: '' };
    const tool = tools[index];
    // There may be thousands of them, and each piece may repeat them.
    if (id && id !== tool.id) tool.id = this.#counted(id);
    if (type && type !== tool.type) tool.type = this.#counted(type);
    if (called?.name) tool.name += this.#counted(called.name);
    if (called?.arguments) tool.arguments += this.#counted(called.arguments);
  }

  #counted(text: string): string {
    this.#size += text.length;
    return text;
  }

  get held(): number {
    return this.#size;
  }

  /** What came later shows in the length of the JSON. */
  readonly left = 0;

  /** As JSON text, in the form of a whole answer. */
  json(): string {
    const texts = this.#choices.some((choice) => choice?.text !== undefined);
    const choices = [...this.#choices.entries()].flatMap(([index, choice]): object[] => {
      // One that no piece came for.
      if (choice === undefined) return [];
      const finish = { finish_reason: choice.finishReason };
      return texts
        ? [{ index, text: choice.text ?? '', ...finish }]
        : [{ index, message: messageOf(choice), ...finish }];
    });
    return JSON.stringify({
      id: this.#id,
      object: texts ? 'text_completion' : 'chat.completion',
      created: this.#created,
      model: this.#model,
      choices,
    });
  }
}

function messageOf({ content, refusal, tools }: Choice): object {
  const called = tools.filter((tool) => tool !== undefined);
  return {
    role: 'assistant',
    content: content ?? null,
    ...(refusal === undefined ? {} : { refusal }),
    ...(called.length === 0
      ? {}
      : {
          tool_calls: called.map(({ id, type, name, arguments: given }) => ({
            id,
            type,
            function: { name, arguments: given },
          })),
        }),
  };
}
