// Names that configs refer to, as the gateway knows them: providers, stored ones, configs, guardrails.
import { ConfigsService } from '../../../gen/gateway/admin/v2/configs_pb.ts';
import { GuardrailsService } from '../../../gen/gateway/admin/v2/guardrails_pb.ts';
import {
  type CatalogueProvider,
  ProviderCatalogueService,
} from '../../../gen/gateway/admin/v2/provider_catalogue_pb.ts';
import { ProvidersService } from '../../../gen/gateway/admin/v2/providers_pb.ts';
import { client, session } from '../api.ts';
import type { Step } from './json-place.ts';

/** What was asked stays for as long as the editor; what may not be read is as if there were none. */
export class Named {
  readonly #workspace: () => string;
  readonly #asked = new Map<string, Promise<readonly string[]>>();
  #catalogue: Promise<readonly CatalogueProvider[]> | undefined;

  /** @param workspace whose names are meant, by id */
  constructor(workspace: () => string) {
    this.#workspace = workspace;
  }

  /** Values of the member at a path. */
  async valuesAt(path: readonly Step[]): Promise<readonly string[]> {
    const name = path.findLast((step) => typeof step === 'string');
    switch (name) {
      case 'provider':
        return [...(await this.#providers()).map(({ id }) => id), ...(await this.#stored('@'))];
      case 'virtual_key':
        return this.#stored('');
      case 'config':
        return this.#once('configs', async () =>
          (await client(ConfigsService).listConfigs({ pageSize: 100, ...this.#of() })).data.map(
            ({ slug }) => slug,
          ),
        );
      default:
        return /^(?:default_)?(?:input|output)_(?:guardrails|mutators)$/.test(name ?? '')
          ? this.#once('guardrails', async () =>
              (await client(GuardrailsService).listGuardrails({ pageSize: 100, ...this.#of() })).data.map(
                ({ slug }) => slug,
              ),
            )
          : [];
    }
  }

  /** Options of a provider, which stand next to it. */
  async optionsOf(provider: string | undefined): Promise<readonly string[]> {
    const found = (await this.#providers()).find(({ id }) => id === provider);
    return found?.options.map(({ name }) => name) ?? [];
  }

  #of(): { readonly workspaceId?: string } {
    return session.value?.workspaceId === '' ? { workspaceId: this.#workspace() } : {};
  }

  #providers(): Promise<readonly CatalogueProvider[]> {
    this.#catalogue ??= client(ProviderCatalogueService)
      .listProviderCatalogue({})
      .then(
        ({ data }) => data,
        () => [],
      );
    return this.#catalogue;
  }

  async #stored(mark: string): Promise<readonly string[]> {
    const slugs = await this.#once('stored', async () =>
      (await client(ProvidersService).listProviders({ pageSize: 100, ...this.#of() })).data.map(
        ({ slug }) => slug,
      ),
    );
    return slugs.map((slug) => mark + slug);
  }

  #once(name: string, load: () => Promise<readonly string[]>): Promise<readonly string[]> {
    const of = `${name} ${this.#workspace()}`;
    const known = this.#asked.get(of) ?? load().catch(() => []);
    this.#asked.set(of, known);
    return known;
  }
}
