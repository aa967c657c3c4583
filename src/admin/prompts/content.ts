// A prompt's content as it comes with a request, and its validation.
import type { ToolChoice } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { ToolChoiceSchema } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import type { TenantScope } from '../../call/scope.ts';
import { GatewayError, invalidField, validationFailed } from '../../lib/errors.ts';
import {
  arrayOf,
  type CompiledPrompt,
  compilePrompt,
  splitParameters,
} from '../../prompts/compiled-prompt.ts';
import type { PromptContent } from '../../prompts/prompt-collections.ts';
import { requestMessage } from '../../prompts/request-message.ts';
import type { Template } from '../../prompts/template/nodes.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import { defined } from '../kit/patch.ts';
import type { PromptsDeps } from './deps.ts';

/** Of a content as JSON. */
const MOST_CHARACTERS = 1_048_576;
const MOST_METADATA = 65_536;

/** The members of a request that make a content. */
export interface GivenContent {
  readonly string?: string | undefined;
  readonly parameters?: JsonObject | undefined;
  readonly model?: string | undefined;
  readonly functions: readonly JsonObject[];
  readonly tools: readonly JsonObject[];
  readonly toolChoice?: ToolChoice | undefined;
  readonly isRawTemplate?: number | undefined;
}

/** The content that a request gives as a whole. */
export function contentOf(
  given: GivenContent,
  string: string,
  virtualKey: string | undefined,
): PromptContent {
  const { model: inParameters, ...parameters } = given.parameters ?? {};
  return defined<PromptContent>({
    string,
    parameters: given.parameters && parameters,
    model:
      given.model ?? (typeof inParameters === 'string' && inParameters !== '' ? inParameters : undefined),
    virtualKey,
    functions: given.functions.length > 0 ? given.functions : undefined,
    tools: given.tools.length > 0 ? given.tools : undefined,
    toolChoice: given.toolChoice && toolChoiceOf(given.toolChoice),
    isRawTemplate: given.isRawTemplate === 1 ? true : undefined,
  });
}

function toolChoiceOf(given: ToolChoice): string | JsonObject {
  return codec.encode(ToolChoiceSchema, given) as string | JsonObject;
}

/** A stored provider's slug, "@" before it or not. */
export function providerSlug(given: string | undefined): string | undefined {
  const slug = given?.replace(/^@/, '');
  return slug === '' ? undefined : slug;
}

/** @throws GatewayError validation_failed for metadata that is too long */
export function checkMetadata(metadata: JsonObject | undefined): void {
  if (metadata !== undefined && JSON.stringify(metadata).length > MOST_METADATA)
    throw invalidField('template_metadata', `must have at most ${MOST_METADATA} characters as JSON`);
}

/**
 * Validates a content: its template, its references, and the request that it makes as far as that is known without
 * variables.
 * @throws GatewayError validation_failed
 */
export async function checkContent(
  deps: PromptsDeps,
  scope: TenantScope,
  content: PromptContent,
): Promise<void> {
  const { string: _, ...rest } = content;
  if (JSON.stringify(rest).length > MOST_CHARACTERS)
    throw invalidField(
      'parameters',
      `with tools and functions: at most ${MOST_CHARACTERS} characters as JSON`,
    );
  const compiled = compilePrompt(content);
  await checkProvider(deps, scope, content.virtualKey);
  const partials = await aboutTemplate(deps.book.partialsOf(scope, compiled.template));
  checkRequest(deps, compiled, partials);
}

/** @throws GatewayError validation_failed */
export async function checkProvider(
  { storedProvider }: PromptsDeps,
  scope: TenantScope,
  slug: string | undefined,
): Promise<void> {
  if (slug === undefined || storedProvider === undefined) return;
  if ((await storedProvider(scope, slug)) === undefined)
    throw invalidField('virtual_key', 'names no stored provider of the workspace');
}

/** A missing reference of a template is the template's fault. */
export async function aboutTemplate<T>(partials: Promise<T>): Promise<T> {
  try {
    return await partials;
  } catch (error) {
    if (error instanceof GatewayError && error.reason === 'not_found')
      throw invalidField('string', error.message, 'partial');
    throw error;
  }
}

function checkRequest(
  { messageRules }: PromptsDeps,
  compiled: CompiledPrompt,
  partials: ReadonlyMap<string, Template>,
): void {
  const { content, isChat } = compiled;
  const { messages: _, prompt: __, ...parameters } = splitParameters(compiled, partials).parameters;
  const given = Object.entries({ ...parameters, stream: parameters.stream_options ? true : undefined });
  const json = Object.fromEntries(given.filter(([, value]) => value !== null && value !== undefined));
  const { model = 'model', tools, functions, toolChoice } = content;
  const parts = isChat
    ? defined({
        messages: arrayOf(content.string) ?? [{ role: 'user' }],
        tools,
        functions,
        tool_choice: toolChoice,
      })
    : { prompt: '' };
  try {
    const operation = isChat ? 'chat' : 'completions';
    requestMessage({ operation, json: { ...json, ...parts, model } }, messageRules);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.details.violations === undefined) throw error;
    throw validationFailed(
      error.details.violations.map((violation) => ({ ...violation, field: fieldOf(violation.field) })),
    );
  }
}

/** The place in the prompt of a fault in its request. */
function fieldOf(field: string): string {
  if (field.startsWith('messages')) return `string.${field}`;
  return /^(?:tools|functions|tool_choice|model)\b/.test(field) ? field : `parameters.${field}`;
}
