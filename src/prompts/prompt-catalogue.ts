// Saved prompts as calls name them: "pp-name-0a1b2c", optionally followed by "@latest", "@7" or "@label".

import type { TenantScope } from '../call/scope.ts';
import { fail, type GatewayError } from '../lib/errors.ts';
import type { Document, DocumentStore } from '../store/documents.ts';
import { type BuiltRequest, buildRequest, type PromptInput } from './build-request.ts';
import { Contents } from './contents.ts';
import type { PromptBody } from './prompt-collections.ts';
import type { PromptReplica } from './prompt-replica.ts';
import { partialsOf, type Template } from './template/nodes.ts';
import { cyclic, MAX_PARTIAL_DEPTH } from './template/render.ts';

/** A prompt ready to be run. */
export interface FilledPrompt extends BuiltRequest {
  readonly id: string;
  readonly slug: string;
  readonly version: number;
  /** The stored provider that runs it, by slug. */
  readonly virtualKey: string | undefined;
}

const MOST_PARTIALS = 256;

export class PromptCatalogue {
  readonly replica: PromptReplica;
  readonly contents: Contents;

  constructor(
    replica: PromptReplica,
    documents: Pick<DocumentStore, 'get'>,
    contents = new Contents(documents),
  ) {
    this.replica = replica;
    this.contents = contents;
  }

  /**
   * Fills a prompt of the tenant's workspace in. Without a round trip once its version was used.
   * @throws GatewayError not_found for the prompt, the version and partials; validation_failed; store_unavailable
   */
  async fill(tenant: TenantScope, name: string, input: PromptInput): Promise<FilledPrompt> {
    const at = name.indexOf('@');
    const idOrSlug = at === -1 ? name : name.slice(0, at);
    const prompt = this.replica.prompt(tenant, idOrSlug);
    if (prompt === undefined) throw missing(`there is no prompt ${clip(idOrSlug)}`);
    const version = this.#number(tenant, prompt, at === -1 ? undefined : name.slice(at + 1));
    const compiled = await this.contents.prompt(tenant, prompt.id, version);
    if (compiled === undefined) throw missing(`the prompt has no version ${version}`);
    const partials = await this.partialsOf(tenant, compiled.template);
    return {
      ...buildRequest(compiled, partials, input),
      id: prompt.id,
      slug: prompt.slug ?? prompt.id,
      version,
      virtualKey: providerOf(prompt.body, version, compiled.content.virtualKey),
    };
  }

  /**
   * All partials that a template needs, by the names that templates give them.
   * @param replaced a partial's id and the content it is to have
   * @throws GatewayError not_found naming one that there is not; validation_failed for a circle
   */
  async partialsOf(
    tenant: TenantScope,
    template: Template,
    replaced?: { readonly id: string; readonly template: Template },
  ): Promise<ReadonlyMap<string, Template>> {
    const read = new Map<string, Template>();
    const visit = async (one: Template, path: readonly string[]): Promise<void> => {
      for (const name of partialsOf(one)) {
        const id = this.#partialId(tenant, name);
        if (path.includes(id))
          throw cyclic([...path.slice(path.indexOf(id)), id].map((i) => this.#slug(tenant, i)));
        if (read.has(name)) continue;
        if (read.size === MOST_PARTIALS || path.length === MAX_PARTIAL_DEPTH)
          throw fail('validation_failed', 'string: the template uses too many partials', { param: 'string' });
        const part = replaced?.id === id ? replaced.template : await this.#partial(tenant, name);
        await visit(part, [...path, id]);
        read.set(name, part);
      }
    };
    await visit(template, replaced === undefined ? [] : [replaced.id]);
    return read;
  }

  #number(tenant: TenantScope, { body }: Document<PromptBody>, selector: string | undefined): number {
    const number = this.#selected(tenant, body, selector);
    if (number === undefined) throw missing(`the prompt has no version ${clip(selector ?? '')}`);
    return number;
  }

  #selected(tenant: TenantScope, body: PromptBody, selector: string | undefined): number | undefined {
    if (selector === undefined || selector === 'default') return body.published;
    if (selector === 'latest') return body.latest;
    if (/^\d+$/.test(selector)) {
      const number = Number(selector);
      return number >= 1 && number <= body.latest ? number : undefined;
    }
    const id = this.replica.labelId(tenant, selector);
    return id !== undefined && Object.hasOwn(body.labels ?? {}, id) ? body.labels?.[id] : undefined;
  }

  #partialId(tenant: TenantScope, name: string): string {
    const [slug = ''] = name.split('@');
    const found = this.replica.partial(tenant, slug);
    if (found === undefined) throw absent(name);
    return found.id;
  }

  async #partial(tenant: TenantScope, name: string): Promise<Template> {
    const [slug = '', selector] = name.split('@');
    const found = this.replica.partial(tenant, slug);
    if (found === undefined) throw absent(name);
    const { latest, published } = found.body;
    const number = selector === undefined ? published : selector === 'latest' ? latest : Number(selector);
    const content = number > latest ? undefined : await this.contents.partial(tenant, found.id, number);
    if (content === undefined) throw absent(name);
    return content;
  }

  #slug(tenant: TenantScope, id: string): string {
    return this.replica.partial(tenant, id)?.slug ?? id;
  }
}

/** The stored provider of a version. */
export function providerOf(
  { provider }: PromptBody,
  version: number,
  own: string | undefined,
): string | undefined {
  return provider !== undefined && version <= provider.through ? provider.slug : own;
}

function missing(message: string): GatewayError {
  return fail('not_found', message, { param: 'prompt_id' });
}

function absent(name: string): GatewayError {
  return fail('not_found', `there is no partial ${clip(name)}, which the template uses`, { param: 'string' });
}

function clip(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
