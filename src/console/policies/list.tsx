// The policies of one kind, and what is done with them.
import { homeWorkspace, may, session } from '../api.ts';
import { FormDialog } from '../dialog.tsx';
import { Amount, Select } from '../fields.tsx';
import { Alert, Field, Table, useLoaded } from '../parts.tsx';
import type { ForWhom, Listed, PolicyKind, Texts } from './kind.ts';

/** What calls are told apart by. */
const KEYS = [
  ['api_key', 'API key'],
  ['workspace_id', 'Workspace'],
  ['provider', 'Provider'],
  ['organisation_id', 'Organisation'],
  ['mcp_server', 'MCP server'],
  ['mcp_tool', 'MCP tool'],
  ['metadata', 'Metadata …'],
] as const;

export function PolicyList({ kind }: { readonly kind: PolicyKind }) {
  const { value, error, reload } = useLoaded(kind.label, kind.list);
  return (
    <section aria-label={kind.title}>
      <div class="head">
        <h2>{kind.title}</h2>
        {may('policies.create') && <NewPolicy kind={kind} onMade={reload} />}
      </div>
      {error !== undefined && <Alert>{error}</Alert>}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && (
        <Table
          label={kind.label}
          columns={['Name', 'Limit', 'For', 'Each', 'Status', '']}
          keys={value.map(({ id }) => id)}
          rows={value.map((policy) => [
            <bdi key="name">{policy.name}</bdi>,
            policy.limit,
            <bdi key="for">{policy.conditions}</bdi>,
            <bdi key="each">{policy.groups}</bdi>,
            policy.status,
            <PolicyActions key="actions" kind={kind} policy={policy} onChanged={reload} />,
          ])}
          empty={kind.empty}
        />
      )}
    </section>
  );
}

function NewPolicy({ kind, onMade }: { readonly kind: PolicyKind; readonly onMade: () => void }) {
  const spaces = session.value?.workspaces ?? [];
  const isOrganisation = session.value?.workspaceId === '';
  const create = async (texts: Texts): Promise<void> => {
    await kind.create(texts, whomOf(texts));
    onMade();
  };
  return (
    <FormDialog name={kind.add} submit="Create" isPrimary onSubmit={create}>
      <Field label="Name" name="name" maxLength={255} />
      {kind.fields()}
      {isOrganisation && (
        <Select
          label="Workspace"
          name="workspace"
          defaultValue={homeWorkspace()}
          options={[
            ['', 'All of the organisation'] as const,
            ...spaces.map(({ id, name }) => [id, name] as const),
          ]}
        />
      )}
      <Select label="Each" name="group" defaultValue="api_key" options={KEYS} />
      <Field label="Metadata of each" name="group_metadata" placeholder="_user" />
      <Select label="Only calls of" name="key" defaultValue="organisation_id" options={KEYS} />
      <Field label="Metadata of the calls" name="key_metadata" placeholder="team" />
      <Field label="Only the value" name="value" placeholder="* for all" />
      <p class="hint">
        Each group of callers has the limit for itself, e.g. each API key. Metadata: its member is named in
        the field below it.
      </p>
    </FormDialog>
  );
}

/** @throws Error for metadata without its member */
function whomOf({ name, workspace, group = 'api_key', key = 'organisation_id', ...texts }: Texts): ForWhom {
  const named = (choice: string, member: string | undefined): string => {
    if (choice !== 'metadata') return choice;
    if (member === undefined) throw new Error('Metadata: name its member, e.g. _user');
    return `metadata.${member}`;
  };
  const value = texts.value ?? '*';
  return {
    conditions: [{ key: named(key, texts.key_metadata), value: { kind: { case: 'text', value } } }],
    groupBy: [{ key: named(group, texts.group_metadata) }],
    ...(name === undefined ? {} : { name }),
    ...(workspace === undefined ? {} : { workspaceId: workspace }),
  };
}

interface PolicyActionsProps {
  readonly kind: PolicyKind;
  readonly policy: Listed;
  readonly onChanged: () => void;
}

function PolicyActions({ kind, policy, onChanged }: PolicyActionsProps) {
  const { id, name, managedBy } = policy;
  const { Groups } = kind;
  const done =
    (run: (texts: Texts) => Promise<unknown>) =>
    async (texts: Texts): Promise<void> => {
      await run(texts);
      onChanged();
    };
  if (managedBy !== undefined) return <>kept in {managedBy}</>;
  return (
    <span class="actions">
      {Groups !== undefined && may('policies.read') && (
        <FormDialog name="Groups" label={`Groups of ${name}`} submit="Done" onSubmit={async () => undefined}>
          <Groups policyId={id} />
        </FormDialog>
      )}
      {may('policies.update') && (
        <FormDialog
          name="Change"
          label={`Change ${name}`}
          submit="Save"
          onSubmit={done(({ limit }) => kind.change(id, Number(limit)))}
        >
          <Amount label="Limit" name="limit" required min="0" step="any" />
        </FormDialog>
      )}
      {may('policies.delete') && (
        <FormDialog
          name="Delete"
          label={`Delete ${name}`}
          submit="Delete"
          onSubmit={done(() => kind.remove(id))}
        >
          <p>Its limit ends within a second; what was counted is kept in the log.</p>
        </FormDialog>
      )}
    </span>
  );
}

/** Conditions and groups as a row shows them. */
export function conditionsText(
  conditions: readonly {
    readonly key: string;
    readonly value?: { readonly kind: { readonly case?: string | undefined; readonly value?: unknown } };
  }[],
): string {
  return conditions
    .map(({ key, value }) => {
      const given = value?.kind.value;
      const texts = typeof given === 'string' ? [given] : ((given as { values?: string[] })?.values ?? []);
      return `${key}: ${texts.join(', ')}`;
    })
    .join('; ');
}
