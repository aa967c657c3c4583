// How a provider is asked for an operation: in its own words where it has it, else over its chat.
import type { Dialect, MessageJson, Operation, ProviderEntry, StreamingOperation } from '../dialect.ts';
import { has } from '../offered.ts';
import {
  type AnswerOf,
  type ChunkOf,
  type OperationName,
  operationRow,
  type RequestOf,
  type StreamingName,
} from '../operations.ts';
import { converseForm } from './bedrock/form.ts';
import { invokeForm } from './bedrock/invoke-form.ts';
import type { Form, WholeForm } from './form.ts';
import { batchEmbedForm, embedForm } from './gemini/embeddings.ts';
import { geminiForm } from './gemini/form.ts';
import { messagesForm } from './messages/form.ts';
import { overChat } from './over-chat.ts';
import { overWhole } from './over-whole.ts';
import { responsesForm } from './responses/form.ts';

/** Any operation, its messages not told apart. */
type AnyOperation = Operation<object, object>;

/** An operation as it is spoken with one provider. */
export interface Spoken<O = AnyOperation> {
  readonly operation: O;
  /** What the provider is asked for: decides the path. */
  readonly wire: OperationName;
}

/** Every operation of a dialect, by what it answers when it answers whole. */
type WholeOperations = { readonly [N in OperationName]?: Operation<RequestOf<N>, AnswerOf<N>> };
export type StreamedOperation<N extends StreamingName> = StreamingOperation<
  RequestOf<N>,
  AnswerOf<N>,
  ChunkOf<N>
>;

/** The forms of operations that are spoken over chat. */
type Forms = { readonly [N in OperationName]?: (json: MessageJson) => Form<never, object, object> };
const FORMS: Forms = {
  messages: messagesForm as never,
  responses: responsesForm as never,
  generateContent: geminiForm as never,
  converse: converseForm as never,
  invokeModel: invokeForm as never,
};
/** The forms of operations that are spoken over embeddings. */
type WholeForms = {
  readonly [N in OperationName]?: (json: MessageJson) => WholeForm<never, object, never, never>;
};
const WHOLE_FORMS: WholeForms = {
  embedContent: embedForm as never,
  batchEmbedContents: batchEmbedForm as never,
};

const translated = new WeakMap<Dialect, Map<OperationName, AnyOperation>>();

/** How the provider is asked for the operation; undefined: it does not offer it. */
export function spoken<N extends OperationName>(
  json: MessageJson,
  dialect: Dialect,
  provider: ProviderEntry,
  name: N,
): Spoken<Operation<RequestOf<N>, AnswerOf<N>>> | undefined {
  if (has(provider, dialect, name)) {
    const own = (dialect as WholeOperations)[name] as Operation<RequestOf<N>, AnswerOf<N>>;
    return { operation: own, wire: name };
  }
  const { over } = operationRow(name);
  if (over === undefined || !has(provider, dialect, over)) return undefined;
  const operation = translatedOf(json, dialect, name) as Operation<RequestOf<N>, AnswerOf<N>> | undefined;
  return operation && { operation, wire: over };
}

function translatedOf(json: MessageJson, dialect: Dialect, name: OperationName): AnyOperation | undefined {
  let known = translated.get(dialect);
  if (known === undefined) {
    known = new Map();
    translated.set(dialect, known);
  }
  const made = known.get(name);
  if (made !== undefined) return made;
  const operation = madeOf(json, dialect, name);
  if (operation === undefined) return undefined;
  known.set(name, operation);
  return operation;
}

function madeOf(
  json: MessageJson,
  { chat, embeddings }: Dialect,
  name: OperationName,
): AnyOperation | undefined {
  const [form, whole] = [FORMS[name], WHOLE_FORMS[name]];
  if (form !== undefined && chat !== undefined) return overChat(json, form(json), chat) as AnyOperation;
  if (whole === undefined || embeddings === undefined) return undefined;
  return overWhole(whole(json), embeddings as never) as AnyOperation;
}
