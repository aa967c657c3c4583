// An operation over the chat of a dialect: the request is put into the chat form, and what the dialect reads of the
// answer is put back.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type CreateChatCompletionRequest,
  CreateChatCompletionRequestSchema,
} from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { GatewayError } from '../../lib/errors.ts';
import { jsonBody } from '../../lib/json-in-slices.ts';
import { lazyMessage } from '../../lib/lazy-message.ts';
import { PrivateMember } from '../../lib/private-member.ts';
import { attachJsonValue, attachRawJson } from '../../lib/raw-json.ts';
import type {
  Dialect,
  MessageJson,
  ProviderEntry,
  StreamingOperation,
  StreamTranslator,
  TranslationContext,
} from '../dialect.ts';
import type { Repeat } from '../repeat.ts';
import { carriesOf } from './carries.ts';
import type { Form, PieceTranslator } from './form.ts';

/** A request that was translated, for one provider. */
interface Known {
  readonly chat: CreateChatCompletionRequest;
  readonly lost: readonly string[];
  readonly form: object;
  readonly provider: ProviderEntry;
  readonly stream: boolean;
  /** Members that the dialect refused, by what the form calls them. */
  readonly refused: ReadonlyMap<string, string>;
}

const NONE: ReadonlyMap<string, string> = new Map();

/** The last translation of a request, kept with it: its answer is read by the same. */
class Last extends PrivateMember {
  #known: Known;

  constructor(request: object, known: Known) {
    super(request);
    this.#known = known;
  }

  static of(request: object): Known | undefined {
    return #known in request ? request.#known : undefined;
  }

  static set(request: object, known: Known): void {
    if (#known in request) request.#known = known;
    else new Last(request, known);
  }
}

type Chat = NonNullable<Dialect['chat']>;

/** The form's operation over a dialect's chat. */
export function overChat<Request extends object, Answer extends object, Chunk>(
  json: MessageJson,
  form: Form<Request, Answer, Chunk>,
  chat: Chat,
): StreamingOperation<Request, Answer, Chunk> {
  const made = (
    request: Request,
    { target }: TranslationContext,
    stream: boolean,
    refused: Known['refused'],
  ): Known => {
    const { provider } = target;
    const model = (request as { readonly model?: string }).model ?? '';
    const { chat: members, lost } = form.toChat(request, carriesOf(provider, model), stream, target);
    for (const name of refused.keys()) delete members[name];
    const all = refused.size === 0 ? lost : [...lost, ...refused.values()];
    const known = { chat: messageOf(json, members, provider), lost: all, form, provider, stream, refused };
    Last.set(request, known);
    return known;
  };
  const chatOf = (request: Request, context: TranslationContext, stream: boolean): Known => {
    const before = Last.of(request);
    const isSame =
      before?.form === form && before.provider === context.target.provider && before.stream === stream;
    return isSame ? before : made(request, context, stream, NONE);
  };
  /** What the dialect refuses of it and the form can do without is left out. */
  const sent = (request: Request, context: TranslationContext, stream: boolean) => {
    const told = new Set<string>();
    const inner = telling(context, form, told);
    const send = (known: Known) =>
      stream ? chat.streamRequest(known.chat, inner) : chat.request(known.chat, inner);
    for (let known = chatOf(request, context, stream); ; ) {
      try {
        told.clear();
        const outbound = send(known);
        context.lost?.(told.size === 0 ? known.lost : [...new Set([...known.lost, ...told])]);
        return outbound;
      } catch (error) {
        const more = refusedOf(error, form.optional, known.refused);
        if (more === undefined) {
          context.lost?.(known.lost);
          throw error;
        }
        known = made(request, context, stream, more);
      }
    }
  };
  return {
    prepare: (request, context, stream) => void chatOf(request, context, stream),
    request: (request, context) => sent(request, context, false),
    streamRequest: (request, context) => sent(request, context, true),
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

/** The members that are left out from now on; undefined: the error is about others. */
function refusedOf(
  error: unknown,
  optional: Readonly<Record<string, string>> | undefined,
  before: Known['refused'],
): Known['refused'] | undefined {
  const violations = error instanceof GatewayError ? error.details.violations : undefined;
  if (optional === undefined || violations === undefined) return undefined;
  const refused = new Map(before);
  for (const { field } of violations) {
    const member = /^[a-z_]+/.exec(field)?.[0] ?? '';
    const name = Object.hasOwn(optional, member) ? optional[member] : undefined;
    if (name === undefined || before.has(member)) return undefined;
    refused.set(member, name);
  }
  return refused.size > before.size ? refused : undefined;
}

/**
 * Strictness is one of OpenAI's chat form; the forms above it need all that a provider says. What is left out has been
 * told by the names of the caller's form.
 */
function openly({ target, now, relayed }: TranslationContext): TranslationContext {
  return { target: target.strict ? { ...target, strict: false } : target, now, relayed };
}

/** The context of a dialect whose own losses are told in the form's words. */
function telling(
  context: TranslationContext,
  { optional, turns }: Pick<Form<never, never, never>, 'optional' | 'turns'>,
  told: Set<string>,
): TranslationContext {
  const inner = openly(context);
  if (context.lost === undefined || turns === undefined) return inner;
  const lost = (fields: readonly string[]): void => {
    for (const field of fields) told.add(inWords(field, optional, turns));
  };
  return { ...inner, lost };
}

/** A path of the chat form as the form's callers know it. */
function inWords(field: string, optional: Form<never, never, never>['optional'], turns: string): string {
  const [member = ''] = /^[a-z_]+/.exec(field) ?? [];
  const rest = field.slice(member.length).replace(/\[\d+\]/g, '[*]');
  if (member === 'messages') return turns + rest.replace('.image_url.', '.');
  if (member === 'tools') return member + rest.replace('.function.', '.');
  return (optional !== undefined && Object.hasOwn(optional, member) ? optional[member] : undefined) ?? field;
}

/** The request as a message. OpenAI's own wire is sent the JSON as it is, and reads no member of what it answers whole. */
function messageOf(
  json: MessageJson,
  chat: JsonObject,
  { dialect, renames }: ProviderEntry,
): CreateChatCompletionRequest {
  const read = (): CreateChatCompletionRequest => json.decode(CreateChatCompletionRequestSchema, chat);
  if (dialect !== 'openai' || renames !== undefined) return read();
  const message =
    chat.stream === true
      ? read()
      : lazyMessage(CreateChatCompletionRequestSchema, read, { stream: undefined });
  const written = jsonBody(chat);
  return typeof written === 'string' ? attachRawJson(message, written) : attachJsonValue(message, chat);
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

  repeat(): Repeat<Chunk> | undefined {
    const run = this.#pieces.again?.();
    const pattern = run && this.#inner.repeat?.()?.pattern;
    return pattern && { pattern, run: run! };
  }

  usage() {
    return this.#inner.usage();
  }

  model(): string | undefined {
    return this.#inner.model();
  }

  tier(): string | undefined {
    return this.#inner.tier?.();
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
