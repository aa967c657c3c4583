// The turns of a request (Anthropic, "Handle tool calls"): none is empty, every call of a tool has its result in the turn
// after it, results stand before anything else there, and no result is without its call.
import type { MessageParam } from '../../gen/gateway/inference/v2/messages_pb.ts';
import type { Violation } from '../lib/errors.ts';

/** Faults that are told of one request. */
const MOST_FAULTS = 20;

/** A call of a tool, and where it stands. */
type Calls = Map<string, string>;

/**
 * Messages of one role that follow each other are one turn; those of the system belong to none.
 * @param continues whether the turns before are not at hand: the first results may be of calls in those
 */
export function turnFaults(messages: readonly MessageParam[], continues: boolean): readonly Violation[] {
  const faults: Violation[] = [];
  const wrong = (field: string, rule: string, message: string): void => {
    if (faults.length < MOST_FAULTS) faults.push({ field, rule, message });
  };
  const unanswered = (calls: Calls): void => {
    for (const [id, field] of calls)
      wrong(field, 'answered', `${id} must have its tool_result in the message after it`);
  };
  let role = '';
  /** Of the last assistant's turn, without a result so far; and all of them. */
  let open: Calls = new Map();
  let asked: ReadonlySet<string> | undefined = continues ? undefined : new Set();
  for (const [i, message] of messages.entries()) {
    // The answer goes on with the last one of the assistant's, which may say nothing yet.
    if (isEmpty(message) && !(message.role === 'assistant' && i === messages.length - 1))
      wrong(`messages[${i}].content`, 'min_len', 'must not be empty');
    if (message.role === 'system') continue;
    const begins = message.role !== role;
    role = message.role;
    if (role === 'assistant') {
      if (begins) {
        unanswered(open);
        open = new Map();
      }
      takeCalls(message, i, open, wrong);
      asked = new Set(open.keys());
    } else takeResults(message, i, open, asked, wrong);
  }
  unanswered(open);
  return faults;
}

function isEmpty({ content }: MessageParam): boolean {
  const kind = content?.kind;
  return kind?.case === 'text'
    ? kind.value === ''
    : kind?.case === 'blocks' && kind.value.values.length === 0;
}

type Wrong = (field: string, rule: string, message: string) => void;

function takeCalls({ content }: MessageParam, i: number, open: Calls, wrong: Wrong): void {
  if (content?.kind.case !== 'blocks') return;
  for (const [j, { type, id }] of content.kind.value.values.entries()) {
    if (type !== 'tool_use' || id === undefined) continue;
    const field = `messages[${i}].content[${j}].id`;
    if (open.has(id)) wrong(field, 'unique', `${id} must be the id of one tool_use`);
    open.set(id, field);
  }
}

function takeResults(
  { content }: MessageParam,
  i: number,
  open: Calls,
  asked: ReadonlySet<string> | undefined,
  wrong: Wrong,
): void {
  if (content?.kind.case !== 'blocks') return;
  let other = false;
  for (const [j, { type, toolUseId: id }] of content.kind.value.values.entries()) {
    if (type !== 'tool_result') {
      other = true;
      continue;
    }
    if (id === undefined) continue;
    const field = `messages[${i}].content[${j}]`;
    if (asked !== undefined && !asked.has(id))
      wrong(`${field}.tool_use_id`, 'known', `${id} must be the id of a tool_use of the message before it`);
    else if (other) wrong(field, 'order', 'must stand before all blocks that are no tool_result');
    open.delete(id);
  }
}
