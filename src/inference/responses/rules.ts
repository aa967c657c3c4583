// Rules of the Responses API over several members of a request, which the contract's fields cannot say one by one.
import type { CreateResponseRequest, ResponseItem } from '../../../gen/gateway/inference/v2/responses_pb.ts';
import { type Violation, validationFailed } from '../../lib/errors.ts';

/** Members that an item's type cannot be without. */
const NEEDED: Readonly<Record<string, readonly string[]>> = Object.freeze({
  message: ['role', 'content'],
  function_call: ['call_id', 'name', 'arguments'],
  function_call_output: ['call_id', 'output'],
  custom_tool_call: ['call_id', 'name', 'input'],
  custom_tool_call_output: ['call_id', 'output'],
  item_reference: ['id'],
});
/** Names of functions and of free-form tools (OpenAI's API reference, "Create a model response"). */
const NAME = /^[a-zA-Z0-9_-]{1,128}$/;
/** Faults that are told of one request. */
const MOST_FAULTS = 20;

/** @throws GatewayError validation_failed naming every member at fault */
export function checkResponse(request: CreateResponseRequest): void {
  const faults: Violation[] = [];
  const wrong = (field: string, rule: string, message: string): void => {
    if (faults.length < MOST_FAULTS) faults.push({ field, rule, message });
  };
  for (const [i, { type, name }] of request.tools.entries()) {
    if (type !== 'function' && type !== 'custom') continue;
    if (name === undefined) wrong(`tools[${i}].name`, 'required', `is required of a tool of type ${type}`);
    else if (!NAME.test(name))
      wrong(`tools[${i}].name`, 'pattern', 'must be 1 to 128 letters, digits, "_" and "-"');
  }
  const format = request.text?.format;
  if (format?.type === 'json_schema') {
    if (format.name === undefined) wrong('text.format.name', 'required', 'is required of type json_schema');
    if (format.schema === undefined)
      wrong('text.format.schema', 'required', 'is required of type json_schema');
  }
  const kind = request.input?.kind;
  if (kind?.case === 'items') {
    for (const [i, item] of kind.value.values.entries()) {
      if (faults.length >= MOST_FAULTS) break;
      const type = item.type ?? 'message';
      for (const member of NEEDED[type] ?? [])
        if (!hasMember(item, member))
          wrong(`input[${i}].${member}`, 'required', `is required of an item of type ${type}`);
    }
  }
  if (faults.length > 0) throw validationFailed(faults);
}

function hasMember(item: ResponseItem, member: string): boolean {
  switch (member) {
    case 'role':
      return item.role !== undefined;
    case 'id':
      return item.id !== undefined;
    case 'call_id':
      return item.callId !== undefined;
    case 'name':
      return item.name !== undefined;
    default:
      return item.extra?.[member] !== undefined && item.extra[member] !== null;
  }
}
