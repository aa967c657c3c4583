// default.addPrefix: puts a text before the prompt, or before the first message of a role. A mutator of requests.
import type { CheckContext, CheckOutcome } from './contract/check.ts';
import { defineCheck } from './contract/define.ts';
import { defaulted, flag, oneOf, required, text } from './contract/fields.ts';
import { isObject } from './contract/parameters.ts';
import type { JsonObject } from './view/traffic.ts';

const ROLES = ['user', 'system', 'assistant'] as const;

interface Prefixing {
  readonly prefix: string;
  readonly applyToRole: (typeof ROLES)[number];
  /** Before the text of the message, or as a message of its own before it. */
  readonly addToExisting: boolean;
  /** Only where no message of the role has a text. */
  readonly onlyIfEmpty: boolean;
}

export const addPrefix = defineCheck({
  id: 'default.addPrefix',
  events: ['input'],
  rewrites: true,
  fields: {
    prefix: required(text(100_000)),
    applyToRole: defaulted(oneOf(ROLES), 'user'),
    addToExisting: flag(true),
    onlyIfEmpty: flag(),
  },
  run({ traffic }: CheckContext, parameters): CheckOutcome {
    const request = prefixed(traffic.api, traffic.request.json, parameters);
    return {
      verdict: true,
      data: { ...parameters, requestType: traffic.requestType },
      ...(request === undefined ? {} : { transformed: { request } }),
    };
  },
});

/** The request with the prefix; undefined where there is nothing that it could be put before. */
function prefixed(api: string, json: JsonObject, how: Prefixing): JsonObject | undefined {
  switch (api) {
    case 'completions':
      return inPrompt(json, 'prompt', how.prefix);
    case 'chat':
      return inMessages(json, 'messages', how);
    case 'messages':
      return how.applyToRole === 'system' ? inSystem(json, 'system', how) : inMessages(json, 'messages', how);
    case 'responses':
      if (how.applyToRole === 'system') return inSystem(json, 'instructions', how);
      if (typeof json.input !== 'string') return inMessages(json, 'input', how);
      return how.applyToRole === 'user' && !how.onlyIfEmpty ? inPrompt(json, 'input', how.prefix) : undefined;
    default:
      return undefined;
  }
}

function inPrompt(json: JsonObject, name: string, prefix: string): JsonObject | undefined {
  const prompt = json[name];
  if (typeof prompt === 'string') return { ...json, [name]: prefix + prompt };
  if (!Array.isArray(prompt) || !prompt.every((one) => typeof one === 'string')) return undefined;
  return { ...json, [name]: prompt.map((one) => prefix + one) };
}

/** APIs with a place of its own for what the system says. */
function inSystem(json: JsonObject, name: string, how: Prefixing): JsonObject | undefined {
  const system = json[name];
  if (system === undefined || system === null || system === '') return { ...json, [name]: how.prefix };
  if (how.onlyIfEmpty) return undefined;
  return { ...json, [name]: before(system, how.addToExisting ? how.prefix : `${how.prefix}\n`) };
}

function inMessages(json: JsonObject, name: string, how: Prefixing): JsonObject | undefined {
  const { prefix, applyToRole: role, addToExisting, onlyIfEmpty } = how;
  const messages: unknown[] = Array.isArray(json[name]) ? json[name] : [];
  const at = messages.findIndex((one) => isObject(one) && one.role === role);
  const found = messages[at];
  if (!isObject(found)) {
    const added = { role, content: prefix };
    return { ...json, [name]: role === 'system' ? [added, ...messages] : [...messages, added] };
  }
  if (isEmpty(found.content)) return { ...json, [name]: messages.with(at, { ...found, content: prefix }) };
  if (onlyIfEmpty) return undefined;
  if (!addToExisting) return { ...json, [name]: messages.toSpliced(at, 0, { role, content: prefix }) };
  return { ...json, [name]: messages.with(at, { ...found, content: before(found.content, prefix) }) };
}

function isEmpty(content: unknown): boolean {
  return (
    content === undefined ||
    content === null ||
    content === '' ||
    (Array.isArray(content) && content.length === 0)
  );
}

/** A text with the prefix; of parts, the first that is a text gets it, or one is put before them. */
function before(content: unknown, prefix: string): unknown {
  if (typeof content === 'string') return prefix + content;
  if (!Array.isArray(content)) return content;
  const at = content.findIndex((part) => isObject(part) && typeof part.text === 'string');
  if (at === -1) return [{ type: 'text', text: prefix }, ...content];
  const part = content[at] as JsonObject;
  return content.with(at, { ...part, text: prefix + String(part.text) });
}
