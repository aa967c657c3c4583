// The turns of a generateContent request as messages of chat.
import type { JsonObject } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import type { Carries } from '../ability.ts';
import type { Lost } from '../messages/lost.ts';
import { contentOf } from '../messages/parts.ts';
import { keptIn } from './kept.ts';
import { mediaParts } from './media.ts';

/** What the turns before say of calls. */
interface Calls {
  made: number;
  /** Ids of calls that have no answer yet, by the function's name. */
  readonly open: Map<string, string[]>;
}

/** The messages. */
export function conversation(body: JsonObject, carries: Carries, lost: Lost): JsonObject[] {
  const calls: Calls = { made: 0, open: new Map() };
  const turns = arrayOf(body.contents).flatMap((content) => {
    if (!isObject(content)) return [];
    const parts = arrayOf(content.parts).filter(isObject);
    if (content.role === 'model') return modelMessage(parts, calls, carries, lost);
    if (content.role === 'system') return systemMessage(parts);
    return userMessages(parts, calls, carries, lost);
  });
  return [...systemMessage(arrayOf(objectOf(body.systemInstruction)?.parts).filter(isObject)), ...turns];
}

function systemMessage(parts: readonly JsonObject[]): JsonObject[] {
  const texts = parts.flatMap(({ text }) => textOf(text) ?? []);
  return texts.length === 0 ? [] : [{ role: 'system', content: texts.join('\n\n') }];
}

function userMessages(
  parts: readonly JsonObject[],
  calls: Calls,
  carries: Carries,
  lost: Lost,
): JsonObject[] {
  const media: JsonObject[] = [];
  const answers = parts.flatMap((part) => {
    const answer = objectOf(part.functionResponse);
    return answer === undefined ? [] : [toolMessage(answer, calls, media, carries, lost)];
  });
  const said = parts.filter((part) => part.functionResponse === undefined);
  const all = [...media, ...said.flatMap((part) => partOf(part, carries, lost))];
  return all.length === 0 ? answers : [...answers, { role: 'user', content: contentOf(all) }];
}

function partOf(part: JsonObject, carries: Carries, lost: Lost): JsonObject[] {
  const { text } = part;
  if (typeof text === 'string') return text === '' ? [] : [{ type: 'text', text }];
  return mediaParts(part, carries, lost);
}

/** Google's `output` and `error` are the text that other wires have. */
function toolMessage(
  { id, name, response, parts }: JsonObject,
  calls: Calls,
  media: JsonObject[],
  carries: Carries,
  lost: Lost,
): JsonObject {
  const called = textOf(name) ?? '';
  const open = calls.open.get(called) ?? [];
  const own = textOf(id);
  const callId = own ?? open[0] ?? `call_${called}`;
  calls.open.set(
    called,
    open.filter((one) => one !== callId),
  );
  const object = objectOf(response) ?? {};
  const [only, ...others] = Object.keys(object);
  const failed = only === 'error' && others.length === 0;
  const plain =
    others.length === 0 && (only === 'output' || only === 'result' || failed) ? object[only!] : undefined;
  if (failed && !carries.toolErrors) lost.add('contents[*].parts[*].functionResponse.response.error');
  for (const part of arrayOf(parts).filter(isObject)) media.push(...mediaParts(part, carries, lost));
  return {
    role: 'tool',
    tool_call_id: callId,
    content: typeof plain === 'string' ? plain : JSON.stringify(object),
    ...(failed && carries.toolErrors ? { is_error: true } : {}),
  };
}

function modelMessage(
  parts: readonly JsonObject[],
  calls: Calls,
  carries: Carries,
  lost: Lost,
): JsonObject[] {
  let text = '';
  let thought = '';
  let proof: string | undefined;
  const own: JsonObject[] = [];
  const toolCalls: JsonObject[] = [];
  for (const part of parts) {
    const signature = textOf(part.thoughtSignature);
    const kept = signature === undefined ? undefined : keptIn(signature);
    if (kept !== undefined && carries.signatures) own.push(...kept);
    else if (kept !== undefined && !carries.reasoning && kept.length > 0)
      lost.add('contents[*].parts[*].thoughtSignature');
    else if (kept !== undefined) thought += kept.map(({ thinking }) => textOf(thinking) ?? '').join('');
    else if (signature !== undefined && !carries.google) lost.add('contents[*].parts[*].thoughtSignature');
    const theirs = kept === undefined && carries.google ? signature : undefined;
    const call = objectOf(part.functionCall);
    if (call !== undefined) toolCalls.push(callOf(call, theirs, calls));
    else if (typeof part.text === 'string' && part.thought !== true) {
      text += part.text;
      proof = theirs ?? proof;
    } else if (typeof part.text === 'string') {
      if (carries.reasoning && kept === undefined) thought += part.text;
    } else lost.add(`contents[*].parts[*].${Object.keys(part)[0] ?? 'part'}`);
  }
  if (text === '' && toolCalls.length === 0 && own.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
      ...(own.length === 0 ? {} : { content_blocks: own }),
      ...(thought !== '' && carries.reasoning ? { reasoning_content: thought } : {}),
      ...(proof === undefined ? {} : signed(proof)),
    },
  ];
}

function callOf({ id, name, args }: JsonObject, signature: string | undefined, calls: Calls): JsonObject {
  const called = textOf(name) ?? '';
  const callId = textOf(id) ?? `call_${calls.made}`;
  calls.made++;
  calls.open.set(called, [...(calls.open.get(called) ?? []), callId]);
  return {
    id: callId,
    type: 'function',
    function: { name: called, arguments: JSON.stringify(objectOf(args) ?? {}) },
    ...(signature === undefined ? {} : signed(signature)),
  };
}

function signed(signature: string): JsonObject {
  return { extra_content: { google: { thought_signature: signature } } };
}
