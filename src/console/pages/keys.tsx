// Keys: who may call. A key's secret is shown once, when it is made or rotated.
import { type ApiKey, ApiKeysService } from '../../../gen/gateway/admin/v2/api_keys_pb.ts';
import { UsageLimitType } from '../../../gen/gateway/common/v2/limits_pb.ts';
import { client, homeWorkspace, may, session } from '../api.ts';
import { now } from '../clock.ts';
import { FormDialog } from '../dialog.tsx';
import { Amount, Select } from '../fields.tsx';
import { moment } from '../figures.ts';
import { Alert, Field, Head, Table, useLoaded } from '../parts.tsx';
import { href } from '../router.ts';
import { Secret } from '../secret.tsx';

/** What a key for model calls holds. */
const CALLS = [
  'completions.write',
  'models.list',
  'prompts.render',
  'guardrails.invoke',
  'mcp.invoke',
  'logs.write',
];
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const EXPIRES = [
  ['', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
] as const;
const TRANSITIONS = [
  ['1', 'An hour'],
  ['24', 'A day'],
  ['168', 'A week'],
] as const;

export default function Keys() {
  const { value, error, reload } = useLoaded('keys', (signal) =>
    client(ApiKeysService).listApiKeys({ pageSize: 1000 }, { signal }),
  );
  const names = new Map(session.value?.workspaces.map(({ id, name }) => [id, name]));
  const keys = value?.data ?? [];
  return (
    <>
      <Head title="Keys">{may('workspace_service_api_keys.create') && <NewKey onMade={reload} />}</Head>
      {error !== undefined && <Alert>{error}</Alert>}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && (
        <Table
          label="Keys"
          columns={['Name', 'Key', 'Kind', 'Workspace', 'Status', 'Made', 'Expires', '']}
          keys={keys.map(({ id }) => id)}
          rows={keys.map((key) => [
            <bdi key="name">{key.name}</bdi>,
            <code key="key">{key.key}</code>,
            key.type,
            names.get(key.workspaceId ?? '') ?? key.workspaceId ?? 'all',
            key.status,
            moment(key.createdAt),
            key.expiresAt === undefined ? 'never' : moment(key.expiresAt),
            <KeyActions key="actions" of={key} onChanged={reload} />,
          ])}
          empty="A key lets a program or a person call the gateway, within its scopes and its budget. New key makes the first one."
        />
      )}
    </>
  );
}

function NewKey({ onMade }: { readonly onMade: () => void }) {
  const create = async (texts: Readonly<Record<string, string>>) => {
    const { name = '', workspace = '', days, dollars } = texts;
    const held = session.value?.scopes ?? [];
    const scopes = CALLS.filter((scope) => session.value?.workspaceId === '' || held.includes(scope));
    const expiresAt = days === undefined ? undefined : new Date(now() + Number(days) * DAY_MS).toISOString();
    const { key } = await client(ApiKeysService).createApiKey({
      type: 'workspace',
      subType: 'service',
      name,
      workspaceId: workspace,
      scopes,
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(dollars === undefined
        ? {}
        : { usageLimits: { type: UsageLimitType.COST, creditLimit: Number(dollars) } }),
    });
    onMade();
    return <Secret value={key} />;
  };
  const spaces = session.value?.workspaces ?? [];
  return (
    <FormDialog name="New key" submit="Create" isPrimary onSubmit={create}>
      <Field label="Name" name="name" required maxLength={100} />
      <Select
        label="Workspace"
        name="workspace"
        defaultValue={homeWorkspace()}
        options={spaces.map(({ id, name }) => [id, name] as const)}
      />
      <Select label="Expires" name="days" options={EXPIRES} />
      <Amount label="Budget in dollars" name="dollars" min="1" step="any" />
      <p class="hint">
        The key may call models in its workspace. Without a budget it spends without a bound.
      </p>
    </FormDialog>
  );
}

function KeyActions({ of: key, onChanged }: { readonly of: ApiKey; readonly onChanged: () => void }) {
  const kind = `${key.type.replaceAll('-', '_')}_api_keys`;
  const rotate = async ({ hours = '24' }: Readonly<Record<string, string>>) => {
    const made = await client(ApiKeysService).rotateApiKey({
      id: key.id,
      keyTransitionPeriodMs: BigInt(Number(hours) * HOUR_MS),
    });
    onChanged();
    return (
      <>
        <p>The former secret works until {moment(made.keyTransitionExpiresAt)}.</p>
        <Secret value={made.key} />
      </>
    );
  };
  const revoke = async (): Promise<void> => {
    await client(ApiKeysService).deleteApiKey({ id: key.id });
    onChanged();
  };
  return (
    <span class="actions">
      <a href={href('/logs', { key: key.id })} aria-label={`Entries of ${key.name}`}>
        Entries
      </a>
      {may(`${kind}.rotate`, `${kind}.update`) && (
        <FormDialog name="Rotate" label={`Rotate ${key.name}`} submit="Rotate" onSubmit={rotate}>
          <p>A new secret is made. The former one goes on working for a while.</p>
          <Select label="Former secret works for" name="hours" defaultValue="24" options={TRANSITIONS} />
        </FormDialog>
      )}
      {may(`${kind}.delete`) && (
        <FormDialog name="Revoke" label={`Revoke ${key.name}`} submit="Revoke" onSubmit={revoke}>
          <p>Calls with this key are refused within a second. It cannot be undone.</p>
        </FormDialog>
      )}
    </span>
  );
}
