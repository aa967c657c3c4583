// Forms of requests that are passed through, told by their paths: where the model stands, and how guardrails read them.
// A form is known by its path and confirmed by its body: the path decides what the provider makes of the body.
import type { GuardrailView } from '../../providers/operations.ts';

/** A form whose bodies can be read. */
export interface RawForm {
  readonly name: string;
  readonly view: GuardrailView;
  /** As guardrails' `allowedRequestTypes` names it. */
  readonly requestType: string;
  /** Whether the body is of this form: all of its text is where the view looks for it. */
  readonly fits: (json: Readonly<Record<string, unknown>>) => boolean;
  /** Whether a model's words are in the answer, which output guardrails look at. */
  readonly says: boolean;
}

/** What a path says. */
export interface RawPath {
  /** Undefined: bodies of this path cannot be read. */
  readonly form: RawForm | undefined;
  /** Models that the path or the query names, as they are sent: the first is the one that answers. */
  readonly models: readonly string[];
  /** Whether the path alone asks for a stream. */
  readonly streams: boolean;
  /** Whether calls of the path use no tokens: what they start is billed elsewhere, or not at all. */
  readonly free: boolean;
}

type Json = Readonly<Record<string, unknown>>;

const isText = (value: unknown): boolean => typeof value === 'string';
const isList = (value: unknown): boolean => Array.isArray(value);
const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
const hasMessages = ({ messages }: Json): boolean => isList(messages);

const FORMS = {
  chat: {
    name: 'chat completions',
    view: 'chat',
    requestType: 'chatComplete',
    fits: (json: Json) => hasMessages(json) && !isGiven(json.prompt) && !isGiven(json.input),
    says: true,
  },
  completions: {
    name: 'completions',
    view: 'completions',
    requestType: 'complete',
    fits: (json: Json) => (isText(json.prompt) || isList(json.prompt)) && !isGiven(json.messages),
    says: true,
  },
  responses: {
    name: 'Responses',
    view: 'responses',
    requestType: 'createModelResponse',
    // A stored prompt of the provider holds text that is not in the body.
    fits: (json: Json) =>
      (isText(json.input) || isList(json.input)) && !isGiven(json.prompt) && !isGiven(json.messages),
    says: true,
  },
  messages: {
    name: 'Messages',
    view: 'messages',
    requestType: 'messages',
    fits: (json: Json) => hasMessages(json) && !isGiven(json.prompt),
    says: true,
  },
  count: {
    name: 'Messages',
    view: 'messages',
    requestType: 'messages',
    fits: hasMessages,
    says: false,
  },
  gemini: {
    name: 'Gemini generateContent',
    view: 'gemini',
    requestType: 'chatComplete',
    // What is cached at the provider cannot be read here.
    fits: (json: Json) =>
      isGiven(json.contents) && !isGiven(json.cachedContent) && !isGiven(json.cached_content),
    says: true,
  },
  geminiCount: {
    name: 'Gemini countTokens',
    view: 'gemini',
    requestType: 'chatComplete',
    fits: (json: Json) => isGiven(json.contents) || isGiven(json.generateContentRequest),
    says: false,
  },
  geminiEmbed: {
    name: 'Gemini embedContent',
    view: 'gemini',
    requestType: 'embed',
    fits: (json: Json) => isGiven(json.content) || isList(json.requests),
    says: false,
  },
  converse: {
    name: 'Bedrock Converse',
    view: 'converse',
    requestType: 'chatComplete',
    fits: (json: Json) => hasMessages(json) && !isGiven(json.additionalModelRequestFields),
    says: true,
  },
  embeddings: {
    name: 'embeddings',
    view: 'embeddings',
    requestType: 'embed',
    fits: (json: Json) => (isText(json.input) || isList(json.input)) && !isGiven(json.inputs),
    says: false,
  },
  rerank: {
    name: 'rerank',
    view: 'rerank',
    requestType: 'rerank',
    fits: (json: Json) => isText(json.query) && isList(json.documents),
    says: false,
  },
  moderations: {
    name: 'moderations',
    view: 'moderations',
    requestType: 'moderate',
    fits: (json: Json) => isText(json.input) || isList(json.input),
    says: false,
  },
  images: {
    name: 'image generations',
    view: 'other',
    requestType: 'imageGenerate',
    fits: (json: Json) => isText(json.prompt),
    says: false,
  },
  speech: {
    name: 'speech',
    view: 'other',
    requestType: 'createSpeech',
    // The instructions of a voice are text, too.
    fits: (json: Json) => isText(json.input) && !isGiven(json.instructions),
    says: false,
  },
} as const satisfies Readonly<Record<string, RawForm>>;

/** What may stand before an operation: versions, and names of wires. Anything else is a path of its own. */
const BASE = String.raw`^(?:/(?:v\d+[a-z0-9]*|openai|anthropic|api|inference|compatible-mode|deployments/[^/]+|engines/[^/]+|accounts/[^/]+/ai))*`;
const path = (rest: string): RegExp => new RegExp(`${BASE}/${rest}$`);

const BY_PATH: readonly (readonly [RegExp, RawForm])[] = [
  [path('chat/completions'), FORMS.chat],
  [path('completions'), FORMS.completions],
  [path('responses(?:/compact|/input_tokens)?'), FORMS.responses],
  [path('messages'), FORMS.messages],
  [path('messages/count_tokens'), FORMS.count],
  [path('embeddings'), FORMS.embeddings],
  [path('rerank'), FORMS.rerank],
  [path('moderations'), FORMS.moderations],
  [path('images/generations'), FORMS.images],
  [path('audio/speech'), FORMS.speech],
];
/** What a GET gives again. */
const KEPT: readonly (readonly [RegExp, RawForm])[] = [
  [path('chat/completions/[^/]+'), FORMS.chat],
  [path('responses/[^/]+'), FORMS.responses],
];

const GEMINI = /\/((?:tuned)?models|endpoints)\/([^/:]+):([A-Za-z]+)$/i;
const GEMINI_ACTIONS: Readonly<Record<string, RawForm>> = {
  generateContent: FORMS.gemini,
  streamGenerateContent: FORMS.gemini,
  countTokens: FORMS.geminiCount,
  embedContent: FORMS.geminiEmbed,
  batchEmbedContents: FORMS.geminiEmbed,
};
const BEDROCK = /^\/model\/([^/]+)\/(converse|converse-stream|invoke|invoke-with-response-stream)$/;
const DEPLOYMENT = /\/(?:deployments|engines)\/([^/]+)\//i;
const MODEL_QUERY = /^(?:model|deployment|engine)$/i;
/** Uploads and what is only started or counted here. */
const FREE =
  /(?:^|\/)(?:files|uploads|batches|vector_stores|containers|cachedContents|evals|threads|assistants|conversations)(?:\/|$)|(?:count_tokens|:countTokens|\/cancel|\/input_tokens|\/moderations)$/;

/**
 * Reads a path. One that a server may read in two ways (encoded slashes and dots, empty segments, parameters after a
 * semicolon) has no form. @param method in capitals @param raw with its query
 */
export function readPath(method: string, raw: string): RawPath {
  const mark = raw.indexOf('?');
  const plain = mark === -1 ? raw : raw.slice(0, mark);
  const query = new URLSearchParams(mark === -1 ? '' : raw.slice(mark + 1));
  const asked = [...query].flatMap(([name, value]) => (MODEL_QUERY.test(name) ? [value] : []));
  const trimmed = plain.length > 1 && plain.endsWith('/') ? plain.slice(0, -1) : plain;
  const isPlain = !/%2f|%5c|%2e|%25|%3b|\\|;|\/\/|\/\.{1,2}(?:\/|$)/i.test(trimmed);
  const free = method === 'GET' || method === 'DELETE' || FREE.test(trimmed);
  const unknown = (models: readonly string[]): RawPath => ({ form: undefined, models, streams: false, free });
  const bedrock = BEDROCK.exec(trimmed);
  if (bedrock !== null) {
    const model = decoded(bedrock[1]!);
    // An ARN of Bedrock has an encoded slash.
    const safe = !/\\|;|%2e|%25/i.test(trimmed);
    const form = safe ? bedrockForm(bedrock[2]!, model) : undefined;
    return { form, models: [model, ...asked], streams: bedrock[2]!.endsWith('stream'), free };
  }
  const gemini = GEMINI.exec(trimmed.replace(/%3a/gi, ':'));
  if (gemini !== null) {
    const [, kind, name, action] = gemini;
    const model = decoded(name!);
    const form = isPlain && kind === 'models' ? GEMINI_ACTIONS[action!] : undefined;
    return { form, models: [model, ...asked], streams: /^stream/.test(action!), free };
  }
  const deployment = DEPLOYMENT.exec(trimmed)?.[1];
  const models = [...(deployment === undefined ? [] : [decoded(deployment)]), ...asked];
  if (!isPlain || trimmed.includes('%')) return unknown(models);
  const found = (method === 'GET' ? KEPT : BY_PATH).find(([pattern]) => pattern.test(trimmed));
  return { form: found?.[1], models, streams: query.get('stream') === 'true', free };
}

/** InvokeModel takes the model's own form: that of Anthropic's models and of Amazon's Nova is known. */
function bedrockForm(action: string, model: string): RawForm | undefined {
  if (action.startsWith('converse')) return FORMS.converse;
  if (/(?:^|[./])anthropic\./.test(model)) return FORMS.messages;
  return undefined;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
