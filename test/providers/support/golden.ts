// Replays one golden case. What a case has decides what is checked:
//   case.json                     {provider, strict, options, operation} where not openai's plain chat
//   request.json                  the gateway's request
//   provider-request.json         what the provider gets (whole); stream-request.json (streamed)
//   provider-response.json (.txt)  what it answers, and response.json what that becomes
//   stream.sse                    what it streams, and chunks.json what that becomes; of a dialect with AWS's framing
//                                 stream.frames.json: [event, payload] or [exception, payload, "exception"]
//   error-<status>.json|txt   an error body, and expected-<status>.json what is read from it
// With GOLDEN_UPDATE=1 the expectations are written instead; read them before they are kept.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { DescMessage, Message } from '@bufbuild/protobuf';
import { UsageSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { rawJsonOf } from '../../../src/lib/raw-json.ts';
import type { Run } from '../../../src/lib/runs.ts';
import { answerReader } from '../../../src/providers/answer-reader.ts';
import type {
  Dialect,
  Operation,
  Outbound,
  ProviderOptions,
  StreamingOperation,
  Target,
} from '../../../src/providers/dialect.ts';
import { createDialects } from '../../../src/providers/dialects/registry.ts';
import { spoken } from '../../../src/providers/forms/spoken.ts';
import { OPERATIONS, type OperationName, type OperationRow } from '../../../src/providers/operations.ts';
import type { UsageReport } from '../../../src/providers/usage/report.ts';
import { codec } from '../../../src/rest/codec.ts';
import { framed } from './aws-frames.ts';
import { textOfBody } from './outbound-body.ts';
import { piecesOf } from './pieces-of.ts';
import { contextOf, targetOf } from './target.ts';

const SCHEMAS: Readonly<Record<OperationName, OperationRow>> = OPERATIONS;

interface Settings {
  readonly provider: string;
  readonly strict: boolean;
  readonly options: ProviderOptions;
  readonly operation: OperationName;
}

export const dialects = createDialects(codec);

/** One case, read from its folder. */
export class GoldenCase {
  readonly folder: string;
  readonly settings: Settings;
  readonly target: Target;
  readonly dialect: Dialect;
  readonly request: Message;

  /** @param provider that answers in place of the fixture's own: another one of the same wire */
  constructor(folder: string, dialect: string, provider?: string) {
    this.folder = folder;
    const given = this.has('case.json') ? (this.json('case.json') as Partial<Settings>) : {};
    const defaults = { provider: dialect, strict: true, options: {}, operation: 'chat' as const };
    this.settings = { ...defaults, ...given, ...(provider === undefined ? {} : { provider }) };
    this.target = targetOf(this.settings.provider, {
      strict: this.settings.strict,
      options: this.settings.options,
    });
    const found = dialects.get(this.target.provider.dialect);
    if (found === undefined) throw new Error('no such dialect');
    this.dialect = found;
    const request = this.has('request.json') ? this.json('request.json') : {};
    this.request = codec.decodeRequest(SCHEMAS[this.settings.operation].request, request);
  }

  has(file: string): boolean {
    return existsSync(path.join(this.folder, file));
  }

  bytes(file: string): Buffer {
    return readFileSync(path.join(this.folder, file));
  }

  /** The bytes of the stream; undefined: the case has none. */
  streamBytes(): Buffer | undefined {
    if (this.has('stream.sse')) return this.bytes('stream.sse');
    return this.has('stream.frames.json') ? framed(this.json('stream.frames.json')) : undefined;
  }

  json(file: string): unknown {
    return JSON.parse(this.bytes(file).toString('utf8'));
  }

  /** The whole answer's file: JSON, or text where it is none. */
  answerFile(): string | undefined {
    return ['provider-response.json', 'provider-response.txt'].find((file) => this.has(file));
  }

  /** Error bodies and their statuses. */
  errors(): { file: string; status: number }[] {
    return readdirSync(this.folder).flatMap((file) => {
      const status = /^error-(\d+)/.exec(file)?.[1];
      return status === undefined ? [] : [{ file, status: Number(status) }];
    });
  }

  /** The expectation in a file; written first when expectations are to be updated. */
  expected(file: string, actual: unknown): unknown {
    if (process.env.GOLDEN_UPDATE === '1') {
      writeFileSync(path.join(this.folder, file), `${JSON.stringify(actual, null, 2)}\n`);
    }
    return this.json(file);
  }

  wholeRequest(): unknown {
    return outboundOf(() => this.#operation().request(this.request, contextOf(this.target)));
  }

  streamRequest(): unknown {
    return outboundOf(() => this.#streaming().streamRequest(this.request, contextOf(this.target)));
  }

  whole(): unknown {
    return outcome(() => {
      const body = this.bytes(this.answerFile() ?? '');
      const { answer, usage, model } = this.#operation().response(body, this.request, contextOf(this.target));
      return {
        answer: said(SCHEMAS[this.settings.operation].answer, answer as Message),
        verbatim: rawJsonOf(answer as Message) === body,
        usage: shownUsage(usage),
        model,
      };
    });
  }

  /** The stream's outcome when its bytes come in these pieces. */
  stream(pieces: Iterable<Uint8Array>): unknown {
    return JSON.parse(this.#streamed(pieces, said));
  }

  /** As `stream`, in a text that is the same where all that would be written is: for comparing many cuts. */
  told(pieces: Iterable<Uint8Array>): string {
    return this.#streamed(pieces, written);
  }

  #streamed(pieces: Iterable<Uint8Array>, say: typeof said): string {
    const translator = this.#streaming().stream(this.request, contextOf(this.target));
    const chunks: unknown[] = [];
    const schema = SCHEMAS[this.settings.operation].chunk as DescMessage;
    const take = (items: readonly (unknown | Run<unknown>)[]): void => {
      for (const chunk of piecesOf(items)) chunks.push(say(schema, chunk as Message));
    };
    const reader = answerReader(translator, this.dialect.framing ?? 'sse', take);
    const result = outcome(() => {
      for (const piece of pieces) reader.push(piece);
      reader.end();
      take(translator.end());
      return {};
    });
    const usage = translator.usage();
    return JSON.stringify({
      chunks,
      usage: shownUsage(usage),
      model: translator.model(),
      done: translator.done,
      ...(result as object),
    });
  }

  /** As the provider is asked for it: itself, or over its chat. */
  #spoken(): unknown {
    const found = spoken(codec, this.dialect, this.target.provider, this.settings.operation);
    if (found === undefined) throw new Error(`${this.target.provider.id} does not offer it`);
    return found.operation;
  }

  /** Members of the request that the wire cannot carry. */
  lost(): readonly string[] {
    const names: string[] = [];
    const context = { ...contextOf(this.target), lost: (fields: readonly string[]) => names.push(...fields) };
    outcome(() => this.#operation().request(this.request, context) && {});
    return names;
  }

  #operation(): Operation<Message, unknown> {
    return this.#spoken() as unknown as Operation<Message, unknown>;
  }

  #streaming(): StreamingOperation<Message, unknown, unknown> {
    return this.#spoken() as unknown as StreamingOperation<Message, unknown, unknown>;
  }
}

/** What the edge would write: the text attached to the message, else its JSON. */
function said(schema: DescMessage, message: Message): unknown {
  const raw = rawJsonOf(message);
  if (raw === undefined) return codec.encode(schema, message);
  return JSON.parse(typeof raw === 'string' ? raw : Buffer.from(raw).toString('utf8'));
}

/** As `said`, with the text as it is. */
function written(schema: DescMessage, message: Message): unknown {
  const raw = rawJsonOf(message);
  if (raw === undefined) return codec.encode(schema, message);
  return typeof raw === 'string' ? raw : Buffer.from(raw).toString('utf8');
}

function shownUsage(usage: UsageReport): unknown {
  return typeof usage === 'object' ? codec.encode(UsageSchema, usage) : usage;
}

function outboundOf(make: () => Outbound): unknown {
  return outcome(() => {
    const { method, path: where, headers, body } = make();
    return {
      method,
      path: where,
      headers,
      body: body === undefined ? undefined : shownBody(textOfBody(body)),
    };
  });
}

/** JSON, or the text of a form. */
function shownBody(text: string): unknown {
  return text.startsWith('--') ? text : JSON.parse(text);
}

function outcome(run: () => unknown): unknown {
  try {
    return plain(run());
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { param, provider, type, code } = error.details;
    return plain({
      error: {
        reason: error.reason,
        status: error.status,
        message: error.message,
        param,
        provider,
        type,
        code,
      },
    });
  }
}

/** As JSON, so that what is undefined is absent. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
