// What folds keep of a stream does not grow with the names that a provider sends.
import type { JsonObject } from '@bufbuild/protobuf';
import test from 'ava';
import { ConverseFold } from '../../../src/providers/forms/bedrock/fold.ts';
import { GeminiFold } from '../../../src/providers/forms/gemini/fold.ts';
import { MessageFold } from '../../../src/providers/forms/messages/fold.ts';

const MANY = 2000;

function* own(): Generator<JsonObject> {
  for (let i = 0; i < MANY; i++) yield { [`k${i}`]: i, last: i };
}

function bounded(t: { true(is: boolean, why?: string): void }, json: JsonObject): void {
  t.true(Object.keys(json).length < 600, `${Object.keys(json).length} members`);
  t.true(json.last === MANY - 1, 'what is there changes');
}

test('of ever other members the folds keep some hundreds', (t) => {
  const [messages, starts, responses] = [new MessageFold(), new MessageFold(), new GeminiFold()];
  const [candidates, stops] = [new GeminiFold(), new ConverseFold()];
  for (const members of own()) {
    messages.push({ type: 'message_delta', delta: members });
    starts.push({ type: 'message_start', message: members });
    responses.push(members);
    candidates.push({ candidates: [members] });
    stops.push({ metadata: members });
  }
  bounded(t, messages.message());
  bounded(t, starts.message());
  bounded(t, responses.response());
  bounded(t, (candidates.response().candidates as JsonObject[])[0]!);
  bounded(t, stops.answer());
});
