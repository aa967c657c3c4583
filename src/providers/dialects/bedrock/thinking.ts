// How much the model thinks, in each maker's own members (Bedrock, "Reasoning" of Claude, Nova and gpt-oss).
import type { JsonObject } from '@bufbuild/protobuf';
import type { CreateChatCompletionRequest } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { bounds } from '../anthropic/thinking.ts';
import { isClaude, isNova } from './model-id.ts';

const NOVA: Readonly<Record<string, string>> = Object.freeze({
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
});

/** Members of additionalModelRequestFields. @throws GatewayError `validation_failed` for models without such a member */
export function reasoning(request: CreateChatCompletionRequest): JsonObject {
  const { model = '', reasoningEffort: effort, thinking } = request;
  if (effort === undefined && thinking === undefined) return {};
  if (isClaude(model)) {
    const claude = bounds(request);
    return {
      ...(claude.thinking === undefined ? {} : { thinking: claude.thinking }),
      ...(claude.effort === undefined ? {} : { output_config: { effort: claude.effort } }),
    };
  }
  if (isNova(model)) return { reasoningConfig: nova(effort, thinking?.type) };
  if (/(?:^|[./])openai\./.test(model) && effort !== undefined && thinking === undefined)
    return { reasoning_effort: effort };
  throw invalidField(
    thinking === undefined ? 'reasoning_effort' : 'thinking',
    "is not supported with this model: use the model's own member in additionalModelRequestFields",
  );
}

function nova(effort: string | undefined, type: string | undefined): JsonObject {
  if (effort === 'none' || type === 'disabled') return { type: 'disabled' };
  if (effort !== undefined && !Object.hasOwn(NOVA, effort))
    throw invalidField('reasoning_effort', `must be none or one of ${Object.keys(NOVA).join(', ')}`);
  return { type: 'enabled', maxReasoningEffort: NOVA[effort ?? 'medium'] as string };
}
