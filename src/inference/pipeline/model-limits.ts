// What the specification asks of text completions and the catalogue of models can tell: whether prompt and answer fit
// the model's context, and whether the model takes a suffix. What the catalogue does not know, the provider judges.
import type { TextOrTokens } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { CreateCompletionRequest } from '../../../gen/gateway/inference/v2/completions_pb.ts';
import { invalidField } from '../../lib/errors.ts';
import type { ModelCatalogue } from '../../providers/catalog/models.ts';
import type { OperationName } from '../../providers/operations.ts';
import type { BoundTarget } from '../plan/bind.ts';

/** Tokens are counted by no tokenizer here: of a text so many bytes are one at the most, runs of one character apart. */
const MOST_BYTES_PER_TOKEN = 8;
/** Runs of spaces, lines and rules, which tokenizers take in one. */
const RUN = /(.)\1{3,}|\s{4,}/gsu;

/** @throws GatewayError validation_failed naming max_tokens, prompt or suffix */
export function checkLimits(
  models: ModelCatalogue,
  { target, stored }: BoundTarget,
  name: OperationName,
  model: string,
  request: unknown,
): void {
  if (name !== 'completions') return;
  const { prompt, maxTokens, suffix } = request as CreateCompletionRequest;
  if (suffix === undefined && maxTokens === undefined) return;
  const asked = stored?.model ?? model;
  const facts = models.find(target.provider.id, asked);
  if (facts === undefined) return;
  if (suffix !== undefined && suffix !== '' && facts.can?.includes('suffix') !== true)
    throw invalidField('suffix', `is only for models of the instruct type, which ${asked} is not`);
  const { context } = facts;
  if (maxTokens === undefined || context === undefined) return;
  const most = Number(maxTokens);
  if (most > context || leastTokens(prompt) + most > context)
    throw invalidField(
      'max_tokens',
      `together with the prompt must not exceed ${context}, ${asked}'s context`,
    );
}

/** Tokens of the longest prompt that there are for certain. */
function leastTokens(prompt: TextOrTokens | undefined): number {
  const { kind } = prompt ?? {};
  switch (kind?.case) {
    case 'text':
      return leastOf(kind.value);
    case 'texts':
      return Math.max(0, ...kind.value.values.map(leastOf));
    case 'tokens':
      return kind.value.values.length;
    case 'tokenLists':
      return Math.max(0, ...kind.value.values.map(({ values }) => values.length));
    default:
      return 0;
  }
}

function leastOf(text: string): number {
  return Math.floor(Buffer.byteLength(text.replace(RUN, '')) / MOST_BYTES_PER_TOKEN);
}
