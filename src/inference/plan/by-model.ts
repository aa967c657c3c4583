// The stored provider that a model's name alone selects: "slug/model", or a model that one of the workspace's providers has.
import { fail, type GatewayError } from '../../lib/errors.ts';
import { clip } from './faults.ts';
import type { ByModel, StoredProvider } from './plan-deps.ts';

/** A stored provider that may be selected by its models. */
export interface NamedProvider extends Pick<StoredProvider, 'entry' | 'deployments' | 'models' | 'refused'> {
  readonly slug: string;
}

/** Whether a provider of the catalogue has a model. */
export type KnowsModel = (providerId: string, model: string) => boolean;

const MOST_CHOICES = 10;

/**
 * Undefined: no provider is meant.
 * @throws GatewayError selection_conflict naming the choices where several are
 */
export function selectByModel(
  providers: readonly NamedProvider[],
  model: string,
  knows: KnowsModel,
): ByModel | undefined {
  const usable = providers.filter(({ refused }) => refused?.() === undefined);
  const [, prefix, rest] = /^([^/@]{1,255})\/(.+)$/s.exec(model) ?? [];
  const whole = usable
    .filter((one) => has(one, model, knows))
    .map(({ slug }) => ({ slug, model: undefined }));
  if (prefix === undefined || rest === undefined) return only(whole, model);
  const named = usable.find(({ slug }) => slug === prefix);
  if (named !== undefined) {
    const meant = { slug: named.slug, model: rest };
    const others = whole.filter(({ slug }) => slug !== named.slug);
    // Models of others may begin with its name: it goes before them where it has the model.
    return has(named, rest, knows) ? meant : only([meant, ...others], model);
  }
  const kinds = usable.filter(({ entry }) => entry.id === prefix);
  return only([...kinds.map(({ slug }) => ({ slug, model: rest })), ...whole], model);
}

function has({ entry, deployments = [], models }: NamedProvider, model: string, knows: KnowsModel): boolean {
  if (models?.restricted === true && !models.allows(model)) return false;
  if (models?.named?.includes(model)) return true;
  if (deployments.length > 0)
    return deployments.some(({ alias, model: served, id }) => (alias ?? served ?? id) === model);
  return knows(entry.id, model);
}

function only(choices: readonly ByModel[], asked: string): ByModel | undefined {
  if (choices.length > 1) throw ambiguous(choices, asked);
  return choices[0];
}

function ambiguous(choices: readonly ByModel[], asked: string): GatewayError {
  const names = choices.slice(0, MOST_CHOICES).map(({ slug, model }) => `@${slug}/${clip(model ?? asked)}`);
  return fail(
    'selection_conflict',
    `several providers have the model ${clip(asked)}: name one of ${names.join(', ')}`,
    {
      param: 'model',
    },
  );
}
