// The events of streams that are passed through, by the form of their answer: read as those of the gateway's own streams
// are, and written where the gateway ends a stream.
import type { DescMessage, JsonObject, Message } from '@bufbuild/protobuf';
import { ConverseEventSchema } from '../../../gen/gateway/inference/v2/bedrock_pb.ts';
import { ChatCompletionChunkSchema } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { CompletionSchema } from '../../../gen/gateway/inference/v2/completions_pb.ts';
import { GenerateContentResponseSchema } from '../../../gen/gateway/inference/v2/gemini_pb.ts';
import { MessageEventSchema } from '../../../gen/gateway/inference/v2/messages_pb.ts';
import { type ResponseEvent, ResponseEventSchema } from '../../../gen/gateway/inference/v2/responses_pb.ts';
import { Form, Plane } from '../../../gen/gateway/options/v2/options_pb.ts';
import { awsEventFrame } from '../../lib/aws-event-frame.ts';
import { EXCEPTION } from '../../lib/aws-event-stream.ts';
import type { GatewayError } from '../../lib/errors.ts';
import { lazyMessage } from '../../lib/lazy-message.ts';
import { attachRawJson } from '../../lib/raw-json.ts';
import { formatSse, type SseEvent } from '../../lib/sse.ts';
import { jsonOf } from '../../providers/forms/json-of.ts';
import type { Framing } from '../../providers/framing.ts';
import { parsedObject } from '../../providers/json-object.ts';
import type { GuardrailView } from '../../providers/operations.ts';
import { codec } from '../../rest/codec.ts';
import { errorBody } from '../../rest/error-body.ts';
import { exceptionFrame } from '../../rest/exception-frame.ts';
import { CHOICES } from '../pipeline/pieces/choices.ts';
import { CONVERSE } from '../pipeline/pieces/converse.ts';
import { GEMINI } from '../pipeline/pieces/gemini.ts';
import { MESSAGES } from '../pipeline/pieces/messages.ts';
import type { PieceForm } from '../pipeline/pieces/piece-form.ts';
import { RESPONSES } from '../pipeline/pieces/responses.ts';
import { failedEvent } from '../responses/failed-event.ts';

/** A form whose streams can be read. */
export interface StreamForm {
  /** Of an event. */
  readonly schema: DescMessage;
  readonly pieces: PieceForm;
  readonly form: Form;
}

const FORMS: Partial<Readonly<Record<GuardrailView, StreamForm>>> = {
  chat: { schema: ChatCompletionChunkSchema, pieces: CHOICES, form: Form.UNSPECIFIED },
  completions: { schema: CompletionSchema, pieces: CHOICES, form: Form.UNSPECIFIED },
  responses: { schema: ResponseEventSchema, pieces: RESPONSES, form: Form.RESPONSES },
  messages: { schema: MessageEventSchema, pieces: MESSAGES, form: Form.MESSAGES },
  gemini: { schema: GenerateContentResponseSchema, pieces: GEMINI, form: Form.GEMINI },
  converse: { schema: ConverseEventSchema, pieces: CONVERSE, form: Form.BEDROCK },
};

/** Undefined: streams of this form cannot be read. */
export function streamFormOf(view: GuardrailView): StreamForm | undefined {
  return FORMS[view];
}

/** What an event says: 'nothing' of one without content, 'unreadable' of one that is no JSON object. */
export function pieceOf(
  { schema }: StreamForm,
  framing: Framing,
  { event, data }: SseEvent,
): Message | 'nothing' | 'unreadable' {
  const text = data.trim();
  if (text === '' || text === '[DONE]' || event.startsWith(EXCEPTION)) return 'nothing';
  const json = parsedObject(text);
  if (framing === 'sse') return json === undefined ? 'unreadable' : pieceFrom(schema, json);
  if (json === undefined) return 'unreadable';
  if (schema === ConverseEventSchema) return pieceFrom(schema, { [event]: json });
  // InvokeModel: an event of the model's own form.
  const within =
    typeof json.bytes === 'string'
      ? parsedObject(Buffer.from(json.bytes, 'base64').toString('utf8'))
      : undefined;
  return within === undefined ? 'unreadable' : pieceFrom(schema, within);
}

/** An event with its JSON. */
export function pieceFrom(schema: DescMessage, json: JsonObject): Message {
  return attachRawJson(
    lazyMessage(schema, () => codec.decode(schema, json)),
    JSON.stringify(json),
  );
}

/** An event of the gateway's own as bytes. */
export function writtenEvent({ schema, form }: StreamForm, framing: Framing, piece: Message): Uint8Array {
  const json = jsonOf(codec, schema, piece);
  if (framing === 'sse') {
    const { type } = json;
    const named = form === Form.RESPONSES || form === Form.MESSAGES;
    return Buffer.from(formatSse(JSON.stringify(json), named ? String(type) : undefined));
  }
  const [name = 'event'] = Object.keys(json);
  const isConverse = schema === ConverseEventSchema;
  const payload = isConverse ? json[name] : { bytes: Buffer.from(JSON.stringify(json)).toString('base64') };
  return awsEventFrame(
    {
      ':event-type': isConverse ? name : 'chunk',
      ':content-type': 'application/json',
      ':message-type': 'event',
    },
    JSON.stringify(payload),
  );
}

/** The event of an error that ends a stream. @param first of the stream's events, where one has come */
export function writtenError(
  streamForm: StreamForm,
  framing: Framing,
  error: GatewayError,
  requestId: string,
  first: Message | undefined,
  last: Message | undefined,
): Uint8Array {
  const { form } = streamForm;
  if (framing !== 'sse') return exceptionFrame(error, { plane: Plane.DATA, form: Form.BEDROCK, requestId });
  if (form === Form.RESPONSES && first !== undefined) {
    const event = failedEvent(first as ResponseEvent, (last ?? first) as ResponseEvent, error);
    return writtenEvent(streamForm, framing, event);
  }
  const body = JSON.stringify(errorBody(error, { plane: Plane.DATA, form, requestId }));
  return Buffer.from(formatSse(body, form === Form.MESSAGES ? 'error' : undefined));
}
