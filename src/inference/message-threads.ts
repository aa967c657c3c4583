// Conversations that Anthropic holds between turns (`thread`): which messages a workspace may go on from, and at whom.
import type {
  CreateMessageRequest,
  Message,
  MessageEvent,
} from '../../gen/gateway/inference/v2/messages_pb.ts';
import { MessageEventSchema, MessageSchema } from '../../gen/gateway/inference/v2/messages_pb.ts';
import type { Call } from '../call/call.ts';
import { fail } from '../lib/errors.ts';
import { jsonOf } from '../providers/forms/json-of.ts';
import { isObject, objectOf, textOf } from '../providers/json-object.ts';
import { codec } from '../rest/codec.ts';
import type { Narrowed } from './pipeline/run.ts';
import type { KeptResponses } from './responses/kept-responses.ts';
import { makerOf, routedTo } from './responses/made-by.ts';
import { ownerOf } from './responses/resolve.ts';

/** The thread of one request. */
export interface MessageThread {
  /** The way to the provider that holds it; undefined: any may begin it. */
  readonly narrowed: Narrowed | undefined;
  /** Notes the answer. */
  whole(answer: Message): Promise<Message>;
  /** The same of a stream, before its first event goes out. */
  streamed(events: AsyncIterable<MessageEvent>): AsyncIterable<MessageEvent>;
}

/**
 * Undefined: the request has none.
 * @throws GatewayError not_found for a message that the caller's workspace was not answered with: clients send all again
 */
export async function threadOf(
  kept: KeptResponses,
  call: Call,
  { extra }: CreateMessageRequest,
): Promise<MessageThread | undefined> {
  const thread = extra?.thread;
  if (!isObject(thread)) return undefined;
  const id = textOf(thread.previous_message_id);
  const made = id === undefined ? undefined : await kept.get(ownerOf(call), id);
  if (id !== undefined && made === undefined)
    throw fail('not_found', 'thread.previous_message_id: names no message of this workspace', {
      param: 'thread.previous_message_id',
      ownDetails: { error_code: 'thread_not_found' },
    });
  const note = async (answered: unknown): Promise<void> => {
    if (typeof answered === 'string' && answered !== '')
      await kept.put(ownerOf(call), answered, makerOf(call));
  };
  return {
    narrowed: made && ((routing) => routedTo(made, routing)),
    async whole(answer) {
      await note(jsonOf(codec, MessageSchema, answer).id);
      return answer;
    },
    async *streamed(events) {
      for await (const event of events) {
        if (event.type === 'message_start')
          await note(objectOf(jsonOf(codec, MessageEventSchema, event).message)?.id);
        yield event;
      }
    },
  };
}
