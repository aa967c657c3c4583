// What a dialect is: how messages of this gateway become HTTP requests of a
// provider, and back. Pure: no sockets, no clock but the one handed in, no policy.
import type { DescMessage, Message, MessageShape } from '@bufbuild/protobuf';
import type { GatewayError, OwnDetails } from '../lib/errors.ts';
import type { UnwrittenJson } from '../lib/json-in-slices.ts';
import type { SseEvent } from '../lib/sse.ts';
import type { Carries } from './forms/ability.ts';
import type { Framing } from './framing.ts';
import type { ImageWireName } from './image-wires/names.ts';
import type { AnswerOf, ChunkOf, OperationName, RequestOf, StreamingName } from './operations.ts';
import type { OptionSpec } from './options/spec.ts';
import type { Repeat } from './repeat.ts';
import type { Reasoning } from './usage/names.ts';
import type { UsageReport } from './usage/report.ts';

/**
 * Messages from JSON values and back, handed in because `rest` and `providers` do not
 * know each other. Members are named as the proto fields (or their json_name); members
 * that a message does not name live in its `extra`, at every level.
 */
export interface MessageJson {
  /**
   * Lenient: a member of the wrong type goes to `extra` under its own name.
   * Throws only when the top is not an object.
   */
  decode<D extends DescMessage>(schema: D, json: unknown): MessageShape<D>;
  /** A plain JSON value: nulls as the protos' annotations say, members of `extra` given back. */
  encode(schema: DescMessage, message: Message): unknown;
}

/**
 * How a credential is written into the request: by a usual name, in a header of its own, or in the query. `aws`,
 * `google`, the two of Azure and `oracle`: a key, or options from which each request's credential is made before it is
 * sent (SigV4, the token of a service account or of Entra, a signature by RSA).
 */
export type AuthScheme =
  | 'aws'
  | 'google'
  | 'azure'
  | 'azure-foundry'
  | 'oracle'
  | 'bearer'
  | 'x-api-key'
  | 'api-key'
  | 'none'
  | { readonly header: string; readonly prefix?: string; readonly query?: never }
  | { readonly query: string; readonly header?: never };

/** How a streamed answer's usage is had: by `stream_options`, or without asking. */
export type StreamUsage = 'stream_options' | 'unasked';

/** What to do with a stream whose client leaves. */
export type ClientCut = 'drain' | 'cancel';

/** How a provider's realtime sessions are opened, and in which events they are told. */
export interface RealtimeWire {
  readonly events: 'openai' | 'gemini';
  /** Path after the base address, with its query. @param model empty: none is named */
  path(model: string, options: ProviderOptions): string;
}

/** One provider: data only. */
export interface ProviderEntry {
  /** Identifier in x-gateway-provider. */
  readonly id: string;
  /** Name for people. */
  readonly name: string;
  readonly dialect: string;
  /**
   * Where it is called, without a trailing slash; absent when a custom host must say. `{name}` stands for an option's
   * value: in the host letters, digits, hyphens, dots and underscores, in the path anything, escaped.
   */
  readonly baseUrl?: string;
  /** A server that people run themselves: the port of this machine where a gateway on loopback may call it. */
  readonly localPort?: number;
  readonly auth: AuthScheme;
  /** The service's name in AWS signatures; absent: bedrock. */
  readonly signsFor?: string;
  /** Whether a call without a credential makes sense. */
  readonly keyless?: true;
  readonly streamUsage: StreamUsage;
  /** Where it counts reasoning when its report has no total to tell it by; absent: among the completion's tokens. */
  readonly reasoning?: Reasoning;
  /**
   * Of a stream whose client leaves: `drain` reads it to its end, for providers that go on making it, and charge
   * all of it, when the connection is closed; absent: it is cancelled.
   */
  readonly onClientCut?: ClientCut;
  /** Operations that it has; absent: all of its dialect, but for those that are `listed`. */
  readonly operations?: readonly OperationName[];
  /** Operations that it has itself of those that others are asked for over their chat (`listed` in operations.ts). */
  readonly native?: readonly OperationName[];
  /** What its wire carries of translated forms otherwise than its dialect. */
  readonly carries?: Partial<Carries>;
  /**
   * What stands between the base address and the dialect's own paths, e.g. "/v1". Not put
   * before raw pass-through paths, nor after a custom host that ends with it already.
   */
  readonly pathPrefix?: string;
  /** Paths (after the base) that differ from the dialect's own; of `model`, what precedes the name. */
  readonly paths?: Readonly<Partial<Record<OperationName, string>>>;
  /**
   * Raw paths that callers write after a version that is a prefix of the gateway's own, too, and so not part of what
   * is passed through, and what they are at the provider.
   */
  readonly rawPaths?: Readonly<Record<string, string>>;
  /** Request members with another name at this provider: ours -> theirs. */
  readonly renames?: Readonly<Record<string, string>>;
  /** What callers, configs and integrations may say of it. */
  readonly options?: readonly OptionSpec[];
  /**
   * What options change about where an operation goes, for providers that need more than a base address; of a raw
   * path that is passed through only the base counts. Called with options that were checked against their specs.
   */
  readonly locate?: (options: ProviderOptions, operation: OperationName | undefined) => Location;
  /** Its realtime sessions; absent: it has none. */
  readonly realtime?: RealtimeWire;
  /** Whether requests to its models may name files that it keeps. */
  readonly fileIds?: true;
  /** Its files are for no purpose: an upload names none. */
  readonly filesWithoutPurpose?: true;
  /** Takes OpenAI's own words and no others: requests are held against them before they are sent. */
  readonly ownWords?: true;
  /** The form of its images where it is not OpenAI's. */
  readonly imageWire?: ImageWireName;
  /** Its names in the list that prices and models' facts are taken from (ledger/prices/take.ts). */
  readonly prices?: readonly string[];
  /** What a user should know before choosing it, e.g. that the service has ended; calls that fail say it too. */
  readonly note?: string;
  /** `gen_ai.provider.name` where the GenAI conventions have another name than the id. */
  readonly genAiName?: string;
}

/** Provider-specific settings of a call, by snake_case name, e.g. `resource_name`. */
export type ProviderOptions = Readonly<Record<string, string>>;

/** Where a call goes when options decide. */
export interface Location {
  /** In place of the provider's own, in the same form. */
  readonly baseUrl?: string;
  /** The path between the base address and the dialect's own path. */
  readonly pathPrefix?: string;
  /** Query to append, without the question mark. */
  readonly query?: string;
}

/** Where a call goes, and with which credential. */
export interface Target {
  readonly provider: ProviderEntry;
  /** The provider's credential as the caller or the store gave it; undefined when there is none. */
  readonly apiKey: string | undefined;
  readonly options: ProviderOptions;
  /** Replaces the provider's base address; already checked by the egress firewall's rules. */
  readonly customHost: string | undefined;
  /** OpenAI's members and words only (true), or the provider's own too. */
  readonly strict: boolean;
}

/** An HTTP request of a provider, before it is located and signed. */
export interface Outbound {
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** Path after the provider's base, with its query. */
  readonly path: string;
  /** Flat pairs of names (lower case) and values. */
  readonly headers: readonly string[];
  /** JSON text, or the value of a long one; undefined without a body. */
  readonly body: string | Uint8Array | UnwrittenJson | undefined;
}

/** What the gateway must know of an answer in addition to the message. */
export interface Translated<Answer> {
  readonly answer: Answer;
  /** As the provider reported it. */
  readonly usage: UsageReport;
  /** The model that the provider says answered. */
  readonly model: string | undefined;
  /** The tier of service that the provider says it served. */
  readonly tier?: string | undefined;
}

/** Clock and names that a translation needs. */
export interface TranslationContext {
  readonly target: Target;
  /** Unix time in milliseconds. */
  readonly now: () => number;
  /** A header of the caller that the operation relays (`relays` in operations.ts); absent: none. */
  readonly relayed?: ((name: string) => string | undefined) | undefined;
  /**
   * Told of members of the request that the wire cannot carry, by their paths, before they are left out.
   * @throws GatewayError `validation_failed` where the caller wants nothing left out
   */
  readonly lost?: ((fields: readonly string[]) => void) | undefined;
}

/** One operation of a dialect, whole. */
export interface Operation<Request, Answer> {
  /** The first part of a long request's translation, which `request` and `streamRequest` go on with in a later turn. */
  prepare?(request: Request, context: TranslationContext, stream: boolean): void;
  /** @throws GatewayError `validation_failed` where the provider cannot express the request. */
  request(request: Request, context: TranslationContext): Outbound;
  /** Reads a 2xx answer. @throws GatewayError `upstream_garbage`. */
  response(body: Uint8Array, request: Request, context: TranslationContext): Translated<Answer>;
}

/** An operation that can also answer in pieces. */
export interface StreamingOperation<Request, Answer, Chunk> extends Operation<Request, Answer> {
  /** The request that asks for pieces (and for their usage, where it must be asked for). */
  streamRequest(request: Request, context: TranslationContext): Outbound;
  /** Whether a streamed request is answered whole, whatever the answer's type; absent: JSON is. */
  answersWhole?(context: TranslationContext): boolean;
  /** A fresh translator for one answer. @param answer its head */
  stream(request: Request, context: TranslationContext, answer?: AnswerHead): StreamTranslator<Chunk>;
  /**
   * A whole answer in the form of a streamed one (role and content, tool calls, finish
   * reason; usage when the request asked for it): for a provider that answers a
   * streamed request whole, and for cached answers.
   */
  wholeAsChunks(answer: Answer, request: Request): readonly Chunk[];
}

/** What is known of an answer before its body. */
export interface AnswerHead {
  header(name: string): string | undefined;
}

/** Turns one answer's events into chunks. Keeps state; used for one answer only. */
export interface StreamTranslator<Chunk> {
  /**
   * What one event adds; often one chunk, sometimes none. Unknown events pass or are skipped.
   * @throws GatewayError the provider's error event, or `upstream_garbage`.
   */
  push(event: SseEvent): readonly Chunk[];
  /**
   * How events that repeat the last one with another text are read; undefined: they are given to `push`. Asked between
   * events; what it gives holds until the next `push`.
   */
  repeat?(): Repeat<Chunk> | undefined;
  /** Of answers that are no events: what some of their bytes add, in place of `push`. */
  take?(bytes: Uint8Array): readonly Chunk[];
  /**
   * Ends the stream: the chunks that remain once the upstream's bytes have ended.
   * @throws GatewayError `upstream_interrupted` when the answer had not come to its end.
   */
  end(): readonly Chunk[];
  /** Usage so far, from any event, the last report of a field winning. */
  usage(): UsageReport;
  /** The model that the provider says answers. */
  model(): string | undefined;
  /** The tier of service that the provider says it served, where its pieces do not say it. */
  tier?(): string | undefined;
  /** Whether the answer has come to its end (its terminal event was seen). */
  readonly done: boolean;
  /** Why the answer failed, where its own last event says so: that was passed on, and nothing follows it. */
  failure?(): GatewayError | undefined;
}

/** What a provider's error body says. */
export interface ProviderError {
  readonly message: string;
  readonly type?: string;
  readonly param?: string;
  readonly code?: string;
  readonly ownDetails?: OwnDetails;
  /** When to ask again, where the body says it, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** Operations that answer in pieces too. */
type Streamed = {
  readonly [N in StreamingName]?: StreamingOperation<RequestOf<N>, AnswerOf<N>, ChunkOf<N>>;
};

/** Operations that answer whole. */
type Whole = {
  readonly [N in Exclude<OperationName, StreamingName>]?: Operation<RequestOf<N>, AnswerOf<N>>;
};

/** A way of speaking that one or more providers share. */
export interface Dialect extends Streamed, Whole {
  readonly name: string;
  /** The form of its streams' events; absent: server-sent events. */
  readonly framing?: Framing;
  /** Headers that every request of the dialect carries, e.g. anthropic-version. Flat pairs. */
  headers(target: Target): readonly string[];
  /** Reads an error answer of any content; never throws. */
  error(status: number, body: Uint8Array): ProviderError;
  /** A fresh reader of usage over the answer, or all events, of one pass-through call, for it may come in parts. */
  tapUsage(provider: ProviderEntry): UsageTap;
}

/** Reads the usage of one pass-through stream. */
export interface UsageTap {
  /** One event's data as JSON; anything else is ignored. */
  push(json: unknown): void;
  /** What was reported so far, the last report of a field winning. */
  usage(): UsageReport;
}
