// Tool calls that are not as OpenAI's clients read them, seen in recorded traffic: arguments as an object or null, no id,
// no type, no index. Each function changes what it is given and says whether it did.
import type { JsonObject } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf } from '../../json-object.ts';

/** Mends the calls of a whole message. @param answer its id, of which ids of calls are made */
export function mendWholeCalls(message: JsonObject, answer: string): boolean {
  let changed = false;
  for (const [place, call] of arrayOf(message.tool_calls).entries()) {
    if (!isObject(call)) continue;
    if (mendBeginning(call, answer, place)) changed = true;
    if (mendArguments(call, '{}')) changed = true;
  }
  return changed;
}

/** The id and the type that a call begins with. */
export function mendBeginning(call: JsonObject, answer: string, place: number): boolean {
  let changed = false;
  if (typeof call.id !== 'string' || call.id === '') {
    call.id = typeof call.id === 'number' ? String(call.id) : `call_${answer}_${place}`;
    changed = true;
  }
  if (typeof call.type !== 'string' || call.type === '') {
    call.type = 'function';
    changed = true;
  }
  return changed;
}

/** Arguments are a text. @param none what stands for none; undefined: they stay away */
export function mendArguments(call: JsonObject, none: string | undefined): boolean {
  const called = objectOf(call.function);
  if (called === undefined || typeof called.arguments === 'string') return false;
  const { arguments: given } = called;
  if (given !== undefined && given !== null) called.arguments = JSON.stringify(given);
  else if (none !== undefined) called.arguments = none;
  else if (given === null) delete called.arguments;
  else return false;
  return true;
}
