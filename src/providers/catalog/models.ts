// What is known of providers' models: kinds, lengths and capabilities, taken from a public list (see the data's
// source, and ledger/prices/take.ts, which makes it).
import { readPackedNow } from '../../lib/packed-file.ts';

/** A model, as far as it is known. */
export interface ModelInfo {
  /** E.g. "chat", "completion", "embedding". */
  readonly mode?: string;
  /** Prompt and answer together, in tokens. */
  readonly context?: number;
  /** The longest answer, in tokens. */
  readonly output?: number;
  /** Capabilities, e.g. "vision", "function_calling", "suffix". */
  readonly can?: readonly string[];
}

/** Knows models. */
export interface ModelCatalogue {
  /** Undefined: the catalogue does not know the model, and callers must not conclude anything from that. */
  find(provider: string, model: string): ModelInfo | undefined;
  /** Names of a provider's models. */
  modelsOf(provider: string): readonly string[];
}

interface Data {
  readonly providers: Readonly<Record<string, Readonly<Record<string, ModelInfo>>>>;
}

/** Kinds of a model's images, such as `hd/1024-x-1792/dall-e-3`: they have prices, and no call names them. */
const SIZED = /(?:^|\/)\d+-x-\d+\//;

/** Reads the data, once, when a model is first asked for. */
export function openModelCatalogue(): ModelCatalogue {
  let read: ReadonlyMap<string, ReadonlyMap<string, ModelInfo>> | undefined;
  const providers = (): NonNullable<typeof read> => {
    read ??= readModels();
    return read;
  };
  return {
    find: (provider, model) => providers().get(provider)?.get(model),
    modelsOf: (provider) =>
      [...(providers().get(provider)?.keys() ?? [])].filter((name) => !SIZED.test(name)),
  };
}

function readModels(): ReadonlyMap<string, ReadonlyMap<string, ModelInfo>> {
  const data: Data = JSON.parse(readPackedNow(new URL('./models.json', import.meta.url)));
  return new Map(Object.entries(data.providers).map(([id, models]) => [id, new Map(Object.entries(models))]));
}
