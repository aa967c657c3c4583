// A tenant with something of everything, in each of which its canary stands, and with callers of every kind.
import type { MadeOrganisation } from '../../../src/access/new-organisation.ts';
import { scopesOf } from '../../../src/access/scopes.ts';
import type { KeyKind } from '../../../src/call/principal.ts';
import { PROVIDER_KEY } from '../../contract/runner.ts';
import { type SigningKey, sign, signingKey } from '../jwt/issuer.ts';
import type { Dice } from './dice.ts';
import type { Thing } from './words.ts';

type Json = Record<string, unknown>;

/** Who may be calling. */
export interface Caller {
  readonly name: string;
  /** Undefined: nobody is authenticated. */
  readonly kind: KeyKind | undefined;
  readonly scopes: ReadonlySet<string>;
  /** The key or token. */
  readonly key: string | undefined;
}

/** What was planted. */
export interface Tenant {
  readonly organisationId: string;
  /** It stands in every text of the tenant and in no request of another one. */
  readonly canary: string;
  readonly names: readonly string[];
  readonly callers: readonly Caller[];
  /** Keys, tokens and links: what no log line may show. */
  readonly secrets: string[];
  /** Ids of what callers may lose and the test does not need. */
  readonly expendable: Things;
  /** Ids of everything, archived things too. */
  readonly all: Things;
  /** Ids of what is there and may be lost. */
  readonly active: Things;
  /** Ids of what was there. */
  readonly archived: Things;
  /** By their ids: who takes a workspace away has to know. */
  readonly workspaceNames: Map<string, string>;
  readonly adminKeyId: string;
  /** Invitations that can be accepted. */
  readonly invites: { readonly inviteId: string; readonly token: string }[];
  /** The slug of the workspace whose members may be lost. */
  readonly second: string;
}

/** Ids by what they are of; what is not there yet is made. */
export type Things = Record<Thing, string[]>;

/** Where a tenant is planted. */
export interface Ground {
  /** http://127.0.0.1:port */
  readonly gateway: string;
  readonly provider: string;
  readonly dice: Dice;
}

export async function plantTenant(ground: Ground, made: MadeOrganisation, canary: string): Promise<Tenant> {
  const planter = new Planter(ground, made, canary);
  await planter.organisation();
  const second = await planter.workspaces();
  const places = ['default', second];
  for (const place of places) await planter.people(place);
  await planter.organisationPeople(places);
  for (const place of places) await planter.services(place);
  await planter.bystanders(second);
  await planter.policies(second);
  for (const place of places) await planter.books(place);
  await planter.saved(second);
  for (const place of places) await planter.storedProviders(place);
  await planter.tokens(places);
  await planter.modelCalls();
  return planter.tenant();
}

class Planter {
  readonly #ground: Ground;
  readonly #made: MadeOrganisation;
  readonly #canary: string;
  readonly #callers: Caller[] = [];
  readonly #names: string[] = [];
  readonly #expendable: Things = {};
  readonly #all: Things = {};
  readonly #archived: Things = {};
  readonly #workspaceNames = new Map<string, string>();
  #second = '';
  #adminKeyId = '';
  #count = 0;

  constructor(ground: Ground, made: MadeOrganisation, canary: string) {
    this.#ground = ground;
    this.#made = made;
    this.#canary = canary;
    this.#keep('organisation', made.organisationId);
    this.#keep('user', made.ownerId);
    this.#keep('workspace', made.workspaceId);
    this.#keep('workspace', 'default');
    this.#add('admin', 'organisation-service', scopesOf('organisation-service'), made.adminKey);
  }

  tenant(): Tenant {
    const isActive = (thing: Thing, id: string) => this.#archived[thing]?.includes(id) !== true;
    const active = Object.entries(this.#expendable).map(
      ([thing, ids]) => [thing, ids.filter((id) => isActive(thing, id))] as const,
    );
    return {
      organisationId: this.#made.organisationId,
      canary: this.#canary,
      names: this.#names,
      callers: this.#callers,
      secrets: this.#callers.flatMap(({ key }) => key ?? []),
      expendable: this.#expendable,
      all: this.#all,
      active: { ...Object.fromEntries(active), organisation: [this.#made.organisationId] },
      archived: this.#archived,
      workspaceNames: this.#workspaceNames,
      adminKeyId: this.#adminKeyId,
      invites: [],
      second: this.#second,
    };
  }

  /** A name with the canary in it. */
  #name(word: string): string {
    const name = `${word} ${this.#canary} ${++this.#count}`;
    this.#names.push(name);
    return name;
  }

  #email(word: string): string {
    const email = `${word}.${this.#canary}.${++this.#count}@people.test`;
    this.#names.push(email);
    return email;
  }

  #add(name: string, kind: KeyKind, scopes: readonly string[], key: string): void {
    this.#callers.push({ name, kind, scopes: new Set(scopes), key });
  }

  async #send(verb: string, path: string, body?: Json, key = this.#made.adminKey): Promise<Json> {
    const answer = await fetch(`${this.#ground.gateway}/v1${path}`, {
      method: verb,
      headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${verb} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as Json;
  }

  #keep(thing: Thing, id: unknown, expendable = false): string {
    note(this.#all, thing, String(id));
    if (expendable) note(this.#expendable, thing, String(id));
    return String(id);
  }

  async organisation(): Promise<void> {
    const { publicJwk } = await this.#signer();
    const { data } = await this.#send('GET', '/api-keys?type=organisation-service');
    this.#adminKeyId = String((data as Json[])[0]?.id);
    await this.#send('PUT', '/admin/organisation', { name: this.#name('Organisation') });
    await this.#send('PUT', '/admin/organisation/defaults', { metadata: { team: this.#canary } });
    await this.#send('PUT', '/admin/organisation/jwt', {
      jwks: { keys: [publicJwk] },
      issuers: [`https://${this.#canary}.test`],
    });
    for (const type of ['production', 'non-production']) {
      const body = {
        name: this.#name('Deployment'),
        type,
        description: this.#name('For'),
        workspaces: ['default'],
      };
      const { id, slug } = await this.#send('POST', '/deployments', body);
      this.#keep('deployment', id, true);
      this.#keep('deployment', slug);
    }
    const { id } = await this.#send('POST', '/deployments', { name: this.#name('Gone'), type: 'production' });
    await this.#gone('deployment', `/deployments/${this.#keep('deployment', id, true)}`);
  }

  /** Answers with the slug of the second one. */
  async workspaces(): Promise<string> {
    await this.#send('PUT', '/admin/workspaces/default', this.#workspace('Default'));
    const slug = `second-${this.#count}`;
    this.#second = slug;
    const second = await this.#send('POST', '/admin/workspaces', { ...this.#workspace('Second'), slug });
    this.#keep('workspace', second.id);
    this.#keep('workspace', slug);
    for (const word of ['Spare', 'Other', 'Archived']) {
      const body = this.#workspace(word);
      const { id } = await this.#send('POST', '/admin/workspaces', body);
      this.#keep('workspace', id, true);
      this.#workspaceNames.set(String(id), String(body.name));
      if (word !== 'Archived') continue;
      note(this.#archived, 'workspace', String(id));
      await this.#send('DELETE', `/admin/workspaces/${id}`, { name: body.name });
    }
    return slug;
  }

  #workspace(word: string): Json {
    return {
      name: this.#name(word),
      description: this.#name('About'),
      defaults: { metadata: { owner: this.#canary } },
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 100000 }],
    };
  }

  /** Somebody who was invited and came. Answers with the user's id. */
  async #join(role: string, place: string, placeRole: string): Promise<string> {
    const { id, invite_link: link } = await this.#send('POST', '/admin/users/invites', {
      email: this.#email(placeRole),
      role,
      workspaces: [{ id: place, role: placeRole }],
    });
    this.#keep('invite', id, true);
    const token = new URLSearchParams(new URL(String(link)).hash.slice(1)).get('token');
    const names = { first_name: this.#name('First'), last_name: this.#name('Last') };
    const accepted = await this.#send('POST', `/admin/users/invites/${id}/accept`, { token, ...names }, '-');
    return this.#keep('user', accepted.user_id);
  }

  async #key(kind: KeyKind, place: string | undefined, given: Json, name: string): Promise<string> {
    const scopes = (given.scopes as string[] | undefined) ?? [...scopesOf(kind)];
    const path = {
      'organisation-service': 'organisation/service',
      'workspace-service': 'workspace/service',
      'workspace-user': 'workspace/user',
    };
    const made = await this.#send('POST', `/api-keys/${path[kind]}`, {
      name: this.#name('Key').slice(0, 100),
      description: this.#name('Of').slice(0, 200),
      alert_emails: [this.#email('alert')],
      defaults: { metadata: { team: this.#canary } },
      ...(place === undefined ? {} : { workspace_id: place }),
      ...given,
      scopes,
    });
    this.#keep('key', made.id);
    this.#add(name, kind, scopes, String(made.key));
    return String(made.id);
  }

  #subset(kind: KeyKind): string[] {
    const scopes = this.#ground.dice.some([...scopesOf(kind)]);
    return scopes.length > 0 ? scopes : ['logs.list'];
  }

  async people(place: string): Promise<void> {
    for (const role of ['admin', 'manager', 'member']) {
      const user_id = await this.#join('member', place, role);
      await this.#key('workspace-user', place, { user_id }, `${role} of ${place}`);
      const scopes = this.#subset('workspace-user');
      await this.#key('workspace-user', place, { user_id, scopes }, `${role} of ${place}, some scopes`);
    }
  }

  async organisationPeople(places: readonly string[]): Promise<void> {
    const admin = await this.#join('admin', places[0] as string, 'member');
    for (const place of places) {
      await this.#key('workspace-user', place, { user_id: admin }, `organisation admin in ${place}`);
      await this.#key('workspace-user', place, { user_id: this.#made.ownerId }, `owner in ${place}`);
    }
    for (let i = 0; i < 4; i++)
      await this.#key(
        'organisation-service',
        undefined,
        { scopes: this.#subset('organisation-service') },
        `admin, some scopes ${i}`,
      );
  }

  async services(place: string): Promise<void> {
    await this.#key('workspace-service', place, {}, `service of ${place}`);
    for (let i = 0; i < 2; i++)
      await this.#key(
        'workspace-service',
        place,
        { scopes: this.#subset('workspace-service') },
        `service of ${place}, some scopes ${i}`,
      );
  }

  /** Deletes what the path's last part is an id of. */
  async #gone(thing: Thing, path: string): Promise<void> {
    note(this.#archived, thing, path.slice(path.lastIndexOf('/') + 1));
    await this.#send('DELETE', path);
  }

  /** Things that may be lost, and things that are. */
  async bystanders(place: string): Promise<void> {
    for (let i = 0; i < 6; i++) {
      const user_id = await this.#join('member', place, 'member');
      note(this.#expendable, 'user', user_id);
      const id = await this.#key('workspace-user', place, { user_id }, `bystander ${i}`);
      note(this.#expendable, 'key', id);
      note(this.#expendable, 'key', await this.#key('workspace-service', place, {}, `spare service ${i}`));
      if (i === 1) await this.#send('POST', `/api-keys/${id}/rotate`, {});
      if (i === 2) await this.#gone('key', `/api-keys/${id}`);
      if (i === 3) {
        await this.#gone('user', `/admin/users/${user_id}`);
        note(this.#archived, 'key', id);
      }
    }
    for (let i = 0; i < 3; i++) {
      const { id } = await this.#send('POST', '/admin/users/invites', {
        email: this.#email('invited'),
        role: 'member',
      });
      this.#keep('invite', id, true);
      if (i === 0) await this.#send('DELETE', `/admin/users/invites/${id}`);
    }
  }

  async policies(place: string): Promise<void> {
    for (let i = 0; i < 4; i++) {
      const { id } = await this.#send('POST', '/policies/rate-limits', {
        name: this.#name('Policy'),
        conditions: [{ key: 'metadata.team', value: this.#canary }],
        group_by: [{ key: 'api_key' }],
        type: 'requests',
        unit: 'rpm',
        value: 100_000,
        workspace_id: place,
      });
      this.#keep('policy', id, true);
    }
  }

  /** Calls in the log, feedback on them, and an export of them. */
  async books(place: string): Promise<void> {
    const service = this.#callers.find(({ name }) => name === `service of ${place}`)?.key;
    for (let i = 0; i < 3; i++) {
      const trace = this.#keep('trace', `trace-${++this.#count}`);
      const said = { model: this.#canary, messages: [{ role: 'user', content: this.#canary }] };
      const log = {
        request: { url: `https://api.openai.com/${this.#canary}`, body: said },
        response: { body: said },
        metadata: { trace_id: trace, team: this.#canary },
      };
      const { id } = await this.#send('POST', '/logs', log, service);
      this.#keep('log', id);
      const feedback = { trace_id: trace, value: 1, metadata: { by: this.#canary } };
      const { feedback_ids: ids } = await this.#send('POST', '/feedback', feedback, service);
      this.#keep('feedback', (ids as string[])[0], true);
      const made = { filters: {}, requested_data: ['id', 'request'], description: this.#name('Export') };
      const { id: exported } = await this.#send('POST', '/logs/exports', { ...made, workspace_id: place });
      this.#keep('export', exported, true);
      if (i === 0) await this.#send('POST', `/logs/exports/${exported}/start`, {});
    }
  }

  /** Configs, guardrails, usage limits and secret references. */
  async saved(place: string): Promise<void> {
    const words = [this.#canary];
    const checks = [{ id: 'default.contains', parameters: { words, operator: 'none' } }];
    for (let i = 0; i < 3; i++) {
      const config = await this.#send('POST', '/configs', {
        name: this.#name('Config'),
        config: { retry: { attempts: 1 }, override_params: { user: this.#canary } },
        workspace_id: place,
      });
      this.#keep('config', config.id, true);
      this.#keep('config', config.slug, true);
      const guardrail = { name: this.#name('Guardrail'), checks, actions: {}, workspace_id: place };
      this.#keep('guardrail', (await this.#send('POST', '/guardrails', guardrail)).id, true);
      const limit = await this.#send('POST', '/policies/usage-limits', {
        name: this.#name('Budget'),
        conditions: [{ key: 'metadata.team', value: this.#canary }],
        group_by: [{ key: 'api_key' }],
        type: 'cost',
        credit_limit: 1e9,
        workspace_id: place,
      });
      this.#keep('policy', limit.id, true);
      const secret = await this.#send('POST', '/secret-references', {
        name: this.#name('Secret'),
        manager_type: 'hashicorp_vault',
        auth_config: {
          vault_auth_type: 'token',
          vault_addr: this.#ground.provider,
          vault_token: `hvs.${this.#canary}`,
        },
        secret_path: `secret/${this.#canary}`,
      });
      this.#keep('reference', secret.id, true);
    }
  }

  async storedProviders(place: string): Promise<void> {
    // Slugs are spoken of by strangers, too: no canary is in them.
    const about = () => ({
      name: this.#name('Reach'),
      slug: `reach-${this.#count}`,
      ai_provider_id: 'openai',
      tags: { team: this.#canary },
    });
    const configurations = {
      custom_host: `${this.#ground.provider}/v1`,
      custom_headers: { 'x-operator': `operator-${this.#canary}` },
    };
    for (let i = 0; i < 3; i++) {
      const key = `sk-${this.#canary}-of-the-provider`;
      const shared = await this.#send('POST', '/integrations', { ...about(), key, configurations });
      await this.#send('PUT', `/integrations/${shared.id}/workspaces`, {
        workspaces: [{ id: place, enabled: true }],
      });
      await this.#send('PUT', `/integrations/${shared.id}/models`, {
        models: [{ slug: `model-${this.#canary}`, enabled: true, is_custom: true }],
      });
      const own = await this.#send('POST', '/integrations', { ...about(), key, workspace_id: place });
      for (const { id, slug } of [shared, own]) {
        this.#keep('integration', id, true);
        this.#keep('integration', slug, true);
      }
      const { data } = await this.#send('GET', `/providers?workspace_id=${place}`);
      for (const { id, slug } of data as Json[]) {
        this.#keep('provider', id, true);
        this.#keep('provider', slug, true);
      }
      const { id } = await this.#send('POST', '/virtual-keys', {
        name: this.#name('Virtual'),
        slug: `virtual-${this.#count}`,
        provider: 'openai',
        key,
        note: this.#name('Note'),
        workspace_id: place,
      });
      this.#keep('provider', id, true);
    }
  }

  #signing: Promise<SigningKey> | undefined;
  #signer(): Promise<SigningKey> {
    this.#signing ??= signingKey('ES256');
    return this.#signing;
  }

  async tokens(places: readonly string[]): Promise<void> {
    const key = await this.#signer();
    const kind = 'workspace-user';
    const all = scopesOf(kind);
    const token = (claims: Json): Promise<string> =>
      sign(key, {
        iss: `https://${this.#canary}.test`,
        organisation_id: this.#made.organisationId,
        workspace_slug: 'default',
        scope: all.join(' '),
        exp: Math.floor(Date.now() / 1000) + 3600,
        ...claims,
      });
    for (const role of ['admin', 'manager', 'member']) {
      const workspace_slug = this.#ground.dice.pick(places);
      this.#add(`token, ${role}`, kind, all, await token({ gateway_role: role, workspace_slug }));
    }
    const userId = this.#all.user?.[2];
    this.#add('token of a user', kind, all, await token({ sub: userId }));
    this.#add('token of a service', 'workspace-service', all, await token({}));
    this.#add(
      'token, some scopes',
      kind,
      all,
      await token({ gateway_role: 'admin', scope: this.#subset(kind).join(' ') }),
    );
    this.#add('token, expired', kind, all, await token({ exp: 1000 }));
    const stranger = await signingKey('ES256', key.kid);
    const claims = {
      iss: `https://${this.#canary}.test`,
      organisation_id: this.#made.organisationId,
      workspace_slug: 'default',
      scope: all.join(' '),
      exp: 4e9,
    };
    this.#add('token, forged', kind, all, await sign(stranger, claims));
  }

  /** So that there is a request log. */
  async modelCalls(): Promise<void> {
    const caller = this.#callers.find(({ name }) => name === 'service of default');
    for (const model of ['gpt-ok', 'status-404']) {
      await fetch(`${this.#ground.gateway}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'x-gateway-api-key': caller?.key ?? '',
          'x-gateway-provider': 'openai',
          'x-gateway-custom-host': `${this.#ground.provider}/v1`,
          'x-gateway-trace-id': `trace-${this.#canary}`,
          'x-gateway-metadata': JSON.stringify({ team: this.#canary }),
          authorization: `Bearer ${PROVIDER_KEY}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: this.#canary }] }),
      }).then((answer) => answer.text());
    }
  }
}

/** Notes an id. */
export function note(things: Things, thing: Thing, id: string): string[] {
  const ids = things[thing] ?? [];
  things[thing] = ids;
  ids.push(id);
  return ids;
}
