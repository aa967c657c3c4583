// An operation over the chat of a dialect: the request is put into the chat form, and what the dialect reads of the
// answer is put back.
import type { CreateChatCompletionRequest } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import type {
  Dialect,
  ProviderEntry,
  StreamingOperation,
  StreamTranslator,
  TranslationContext,
} from '../dialect.ts';
import { carriesOf } from './carries.ts';
import type { AsChat, Form, PieceTranslator } from './form.ts';

/** A request that was translated, for one provider. */
interface Known extends AsChat {
  readonly provider: ProviderEntry;
  readonly stream: boolean;
}

type Chat = NonNullable<Dialect['chat']>;

/** The form's operation over a dialect's chat. */
export function overChat<Request extends object, Answer extends object, Chunk>(
  form: Form<Request, Answer, Chunk>,
  chat: Chat,
): StreamingOperation<Request, Answer, Chunk> {
  const known = new WeakMap<Request, Known>();
  const chatOf = (request: Request, { target }: TranslationContext, stream: boolean): Known => {
    const { provider } = target;
    const before = known.get(request);
    if (before?.provider === provider && before.stream === stream) return before;
    const model = (request as { readonly model?: string }).model ?? '';
    const made = { ...form.toChat(request, carriesOf(provider, model), stream, target), provider, stream };
    known.set(request, made);
    return made;
  };
  const asked = (
    request: Request,
    context: TranslationContext,
    stream: boolean,
  ): CreateChatCompletionRequest => {
    const { chat: asChat, lost } = chatOf(request, context, stream);
    context.lost?.(lost);
    return asChat;
  };
  return {
    request: (request, context) => chat.request(asked(request, context, false), openly(context)),
    streamRequest: (request, context) => chat.streamRequest(asked(request, context, true), openly(context)),
    response(body, request, context) {
      const { answer, ...rest } = chat.response(body, chatOf(request, context, false).chat, openly(context));
      return { ...rest, answer: form.answer(answer, request, context, rest.usage) };
    },
    stream(request, context) {
      const inner = chat.stream(chatOf(request, context, true).chat, openly(context));
      return new Translated(inner, form.pieces(request, context));
    },
    wholeAsChunks: (answer, request) => form.wholeAsChunks(answer, request),
  };
}

/**
 * Strictness is one of OpenAI's chat form; the forms above it need all that a provider says. What is left out has been
 * told by the names of the caller's form.
 */
function openly({ lost: _, ...context }: TranslationContext): TranslationContext {
  return context.target.strict ? { ...context, target: { ...context.target, strict: false } } : context;
}

type ChunkTranslator = ReturnType<Chat['stream']>;

class Translated<Chunk> implements StreamTranslator<Chunk> {
  readonly #inner: ChunkTranslator;
  readonly #pieces: PieceTranslator<Chunk>;
  #ended = false;

  constructor(inner: ChunkTranslator, pieces: PieceTranslator<Chunk>) {
    this.#inner = inner;
    this.#pieces = pieces;
  }

  get done(): boolean {
    return this.#inner.done;
  }

  push(event: Parameters<ChunkTranslator['push']>[0]): readonly Chunk[] {
    return this.#translate(this.#inner.push(event));
  }

  end(): readonly Chunk[] {
    return this.#translate(this.#inner.end());
  }

  usage() {
    return this.#inner.usage();
  }

  model(): string | undefined {
    return this.#inner.model();
  }

  #translate(chunks: ReturnType<ChunkTranslator['push']>): readonly Chunk[] {
    const isOver = this.#inner.done && !this.#ended;
    if (chunks.length === 1 && !isOver) return this.#pieces.push(chunks[0]!);
    const pieces = chunks.flatMap((chunk) => this.#pieces.push(chunk));
    if (!isOver) return pieces;
    this.#ended = true;
    pieces.push(...this.#pieces.end(this.#inner.usage()));
    return pieces;
  }
}
