// Tool calls that are not as OpenAI's clients read them, seen in recorded traffic: arguments as an object or null, no id,
// no type, no index, members of the list that are no calls. Each function changes what it is given and says whether it did.
import type { JsonObject } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf } from '../../json-object.ts';

/** The list has calls and nothing else; what is no list is left out. */
export function mendList(holder: JsonObject): boolean {
  const { tool_calls: calls } = holder;
  if (calls === undefined || calls === null) return false;
  if (!Array.isArray(calls)) {
    delete holder.tool_calls;
    return true;
  }
  if (calls.every(isObject)) return false;
  holder.tool_calls = calls.filter(isObject);
  return true;
}

/** Mends the calls of a whole message. @param answer its id, of which ids of calls are made */
export function mendWholeCalls(message: JsonObject, answer: string): boolean {
  let changed = mendList(message);
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

/** What a later piece of a call repeats, or leaves empty: clients would put the texts together. */
export function mendRepetition(call: JsonObject, name: string): boolean {
  let changed = false;
  if ('id' in call) {
    delete call.id;
    changed = true;
  }
  if (call.type === '' || call.type === null) {
    delete call.type;
    changed = true;
  }
  const called = objectOf(call.function);
  if (called !== undefined && 'name' in called && (!called.name || called.name === name)) {
    delete called.name;
    changed = true;
  }
  return changed;
}

/** Arguments are a text. @param none what stands for none; undefined: they stay away */
export function mendArguments(call: JsonObject, none: string | undefined): boolean {
  const called = objectOf(call.function);
  if (called === undefined) {
    if (!('function' in call)) return false;
    delete call.function;
    return true;
  }
  if (typeof called.arguments === 'string') return false;
  const { arguments: given } = called;
  if (given !== undefined && given !== null) called.arguments = JSON.stringify(given);
  else if (none !== undefined) called.arguments = none;
  else if (given === null) delete called.arguments;
  else return false;
  return true;
}
