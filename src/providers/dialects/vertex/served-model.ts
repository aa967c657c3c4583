// Who made a model, and by which wire Vertex AI serves it ("Partner models", "Open models", "Endpoints").
import { invalidField } from '../../../lib/errors.ts';
import { modelPath } from '../../model-path.ts';

/** `gemini`: generateContent; `anthropic` and `mistral`: their makers' own bodies over rawPredict; `openai`: chat completions. */
export type Wire = 'gemini' | 'anthropic' | 'mistral' | 'openai';

/** A model, its name read. */
export interface ServedModel {
  readonly wire: Wire;
  /** As the body or the path names it; empty: the path says all, the body need not. */
  readonly model: string;
  /** Path behind the location: of the collection that the model is in, or for `openai` of its endpoint. */
  readonly path: string;
}

/** Makers by the names that stand before a model's, with a dot or a slash. */
const MAKERS: Readonly<Record<string, Wire>> = Object.freeze({
  google: 'gemini',
  anthropic: 'anthropic',
  mistralai: 'mistral',
  mistral: 'mistral',
  meta: 'openai',
  openai: 'openai',
  qwen: 'openai',
  'deepseek-ai': 'openai',
  'zai-org': 'openai',
  moonshotai: 'openai',
  minimaxai: 'openai',
});
/** Makers of models whose names stand alone. */
const BARE: readonly (readonly [RegExp, string])[] = [
  [/^claude-/, 'anthropic'],
  [/^(?:mistral|codestral|ministral)-/, 'mistralai'],
];
const PREFIX = /^([a-z][a-z-]*)[./](.+)$/;
const RESOURCE = /^(?:projects\/[^/]+\/locations\/[^/]+\/)?publishers\/([a-z][a-z-]*)\/models\/(.+)$/;
const ENDPOINT = /^endpoints[./]([A-Za-z0-9_-]+)$/;

/**
 * Reads a model's name: "gemini-2.5-pro", "anthropic.claude-sonnet-4-5@20250929", "meta/llama-3.3-70b-instruct-maas",
 * "publishers/google/models/gemini-2.5-pro", "endpoints.1234".
 * @throws GatewayError `validation_failed` for a maker whose models Vertex AI serves by no wire that is spoken here.
 */
export function servedModel(given: string): ServedModel {
  const name = given.startsWith('models/') ? given.slice('models/'.length) : given;
  const endpoint = ENDPOINT.exec(name)?.[1];
  if (endpoint !== undefined)
    return { wire: 'openai', model: '', path: `/endpoints/${endpoint}/chat/completions` };
  const resource = RESOURCE.exec(name);
  const prefixed = resource ?? PREFIX.exec(name);
  const bare = BARE.find(([pattern]) => pattern.test(name))?.[1];
  if (bare !== undefined) return madeBy(bare, name);
  if (prefixed === null) return madeBy('google', name);
  const [, maker = '', model = ''] = prefixed;
  // "gemini-2.5-pro" has a dot too, but no maker before it.
  if (!Object.hasOwn(MAKERS, maker)) {
    if (resource !== null || name.includes('/'))
      throw invalidField(
        'model',
        `"${maker}" is no publisher whose models can be called: use one of ${known()}`,
      );
    return madeBy('google', name);
  }
  return madeBy(maker, model);
}

function madeBy(maker: string, model: string): ServedModel {
  const wire = MAKERS[maker] as Wire;
  if (wire === 'openai')
    return { wire, model: `${maker}/${model}`, path: '/endpoints/openapi/chat/completions' };
  const publisher = wire === 'mistral' ? 'mistralai' : maker;
  return { wire, model, path: `/publishers/${publisher}/models` };
}

/** Where a model's own body goes: `rawPredict`, or `streamRawPredict`. */
export function rawPredictPath({ path, model }: ServedModel, stream: boolean): string {
  return `${path}/${modelPath(model)}:${stream ? 'streamRawPredict' : 'rawPredict'}`;
}

function known(): string {
  return Object.keys(MAKERS).join(', ');
}
