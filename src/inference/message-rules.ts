// Rules of the Messages API over several members of a request, which the contract's fields cannot say one by one.
import type {
  CountMessageTokensRequest,
  CreateMessageRequest,
  MessageBlock,
} from '../../gen/gateway/inference/v2/messages_pb.ts';
import { type Violation, validationFailed } from '../lib/errors.ts';
import { isObject } from '../providers/json-object.ts';
import { turnFaults } from './message-turns.ts';

/** Marks of the prompt cache in one request (Anthropic, "Prompt caching"). */
const MOST_MARKS = 4;

/** @param betas the header anthropic-beta @throws GatewayError `validation_failed` naming every member at fault */
export function checkMessages(
  request: CreateMessageRequest | CountMessageTokensRequest,
  betas: string | undefined,
): void {
  const violations: Violation[] = [];
  const wrong = (field: string, rule: string, message: string): void => {
    violations.push({ field, rule, message });
  };
  const { tools, toolChoice: choice, thinking } = request;
  for (const [i, { type = 'custom', name, inputSchema }] of tools.entries()) {
    if (type !== 'custom') continue;
    if (name === undefined) wrong(`tools[${i}].name`, 'required', 'is required of a custom tool');
    if (inputSchema === undefined)
      wrong(`tools[${i}].input_schema`, 'required', 'is required of a custom tool');
  }
  if (choice?.type === 'tool' && choice.name === undefined)
    wrong('tool_choice.name', 'required', 'is required of type tool');
  if (thinking?.type === 'enabled') {
    const { budgetTokens: budget } = thinking;
    const most = 'maxTokens' in request ? request.maxTokens : undefined;
    if (budget === undefined) wrong('thinking.budget_tokens', 'required', 'is required of type enabled');
    else if (most !== undefined && budget >= most && !isInterleaved(request, betas))
      wrong('thinking.budget_tokens', 'lt', 'must be less than max_tokens');
  }
  for (const fault of blockFaults(request)) violations.push(fault);
  for (const fault of turnFaults(request.messages, continues(request))) violations.push(fault);
  if (marksIn(request) > MOST_MARKS)
    wrong('cache_control', 'max_items', `at most ${MOST_MARKS} blocks of a request may have it`);
  if (violations.length > 0) throw validationFailed(violations);
}

/** Whether the turns before are held by the provider (Anthropic, "Message threads"). */
function continues({ extra }: CreateMessageRequest | CountMessageTokensRequest): boolean {
  return isObject(extra?.thread) && extra.thread.type === 'continue';
}

/** With interleaved thinking the budget is that of a whole turn, and may be more. */
function isInterleaved(
  { extra }: CreateMessageRequest | CountMessageTokensRequest,
  betas: string | undefined,
): boolean {
  return `${betas ?? ''}${JSON.stringify(extra?.betas ?? '')}`.includes('interleaved-thinking');
}

/** Members that a block's type cannot be without. */
const NEEDED: Readonly<Record<string, readonly (readonly [keyof MessageBlock, string])[]>> = Object.freeze({
  text: [['text', 'text']],
  tool_use: [
    ['id', 'id'],
    ['name', 'name'],
    ['input', 'input'],
  ],
  tool_result: [['toolUseId', 'tool_use_id']],
});

/** Faults that are told of one request. */
const MOST_FAULTS = 20;

function blockFaults({ messages }: CreateMessageRequest | CountMessageTokensRequest): Violation[] {
  const faults: Violation[] = [];
  for (const [i, { content }] of messages.entries()) {
    if (content?.kind.case !== 'blocks') continue;
    for (const [j, block] of content.kind.value.values.entries()) {
      const needed = Object.hasOwn(NEEDED, block.type) ? NEEDED[block.type]! : [];
      for (const [member, name] of needed) {
        if (block[member] !== undefined) continue;
        const field = `messages[${i}].content[${j}].${name}`;
        faults.push({ field, rule: 'required', message: `is required of a block of type ${block.type}` });
        if (faults.length >= MOST_FAULTS) return faults;
      }
    }
  }
  return faults;
}

function marksIn({ messages, system, tools }: CreateMessageRequest | CountMessageTokensRequest): number {
  let marks = tools.filter(({ cacheControl }) => cacheControl !== undefined).length;
  for (const content of [system, ...messages.map((message) => message.content)]) {
    if (content?.kind.case !== 'blocks') continue;
    for (const { cacheControl } of content.kind.value.values) if (cacheControl !== undefined) marks++;
  }
  return marks;
}
