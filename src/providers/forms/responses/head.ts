// What a response repeats of its request.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf } from '../../json-object.ts';

/** A response before its output: as it is told when it begins. */
export function responseHead(request: JsonObject, id: string, createdAt: number): JsonObject {
  const reasoning = objectOf(request.reasoning);
  const text = objectOf(request.text);
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status: 'in_progress',
    background: false,
    completed_at: null,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    model: request.model ?? '',
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    presence_penalty: request.presence_penalty ?? 0,
    frequency_penalty: request.frequency_penalty ?? 0,
    prompt_cache_key: request.prompt_cache_key ?? null,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    safety_identifier: request.safety_identifier ?? null,
    service_tier: request.service_tier ?? 'default',
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: { ...text, format: objectOf(text?.format) ?? { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: arrayOf(request.tools).map(toldTool),
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: request.truncation ?? 'disabled',
    usage: null,
    user: request.user ?? null,
    metadata: objectOf(request.metadata) ?? {},
  };
}

/** Functions have all of their members. */
function toldTool(tool: JsonValue): JsonValue {
  if (!isObject(tool) || tool.type !== 'function') return tool;
  return { description: null, parameters: null, strict: null, ...tool };
}
