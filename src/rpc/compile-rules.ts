// The rules of a message type, compiled in turns of the event loop: those of a chat request take 60 ms in one.
import { create, type DescMessage } from '@bufbuild/protobuf';
import { usedTypes } from '@bufbuild/protobuf/reflect';
import type { Validator } from '@bufbuild/protovalidate';
import { nextTurn } from '../lib/time-slices.ts';

/** Milliseconds of compiling after which others run. */
const TURN_MS = 5;

/** Compiles the rules of a type and of all types within it. What cannot be compiled is told by the first real message. */
export async function compileInTurns(validator: Validator, schema: DescMessage): Promise<void> {
  let began = performance.now();
  for (const type of innerFirst(schema)) {
    // The engine compiles the rules of a type with its first message, however empty that is.
    validator.validate(type, create(type));
    if (performance.now() - began < TURN_MS) continue;
    await nextTurn();
    began = performance.now();
  }
}

/**
 * The message types within a type, and it at the end: each after those within it. Of types that contain each other only
 * the one that is met first is listed: the engine compiles the others with it, and its plan depends on where it begins.
 */
export function innerFirst(schema: DescMessage): readonly DescMessage[] {
  const seen = new Set<DescMessage>();
  const open = new Set<object>();
  const order: DescMessage[] = [];
  const visit = (type: DescMessage): void => {
    if (seen.has(type)) return;
    seen.add(type);
    open.add(type);
    for (const { message } of type.fields) if (message !== undefined) visit(message);
    open.delete(type);
    for (const inner of usedTypes(type)) if (open.has(inner)) return;
    order.push(type);
  };
  visit(schema);
  return order;
}
