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
import type { Form } from './form.ts';
import { messagesForm } from './messages/form.ts';
import { overChat } from './over-chat.ts';
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
const FORMS: Forms = { messages: messagesForm as never, responses: responsesForm as never };

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
  const form = FORMS[name];
  if (form === undefined || dialect.chat === undefined) return undefined;
  const operation = overChat(form(json), dialect.chat) as AnyOperation;
  known.set(name, operation);
  return operation;
}
