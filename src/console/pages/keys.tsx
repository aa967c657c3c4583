// Keys: who may call. A new key's secret is shown once.
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { ApiKeysService } from '../../../gen/gateway/admin/v2/api_keys_pb.ts';
import { client, homeWorkspace, may, session, wordsOf } from '../api.ts';
import { moment } from '../figures.ts';
import { Alert, Choice, Field, Head, Table, useLoaded } from '../parts.tsx';
import { href } from '../router.ts';

/** What a key for model calls holds. */
const CALLS = [
  'completions.write',
  'models.list',
  'prompts.render',
  'guardrails.invoke',
  'mcp.invoke',
  'logs.write',
];

export default function Keys() {
  const { value, error, reload } = useLoaded('keys', (signal) =>
    client(ApiKeysService).listApiKeys({ pageSize: 1000 }, { signal }),
  );
  const mayCreate = may('workspace_service_api_keys.create');
  const names = new Map(session.value?.workspaces.map(({ id, name }) => [id, name]));
  return (
    <>
      <Head title="Keys">{mayCreate && <NewKey onMade={reload} />}</Head>
      {error !== undefined && <Alert>{error}</Alert>}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && (
        <Table
          label="Keys"
          columns={['Name', 'Key', 'Kind', 'Workspace', 'Status', 'Made', 'Expires', '']}
          rows={value.data.map((key) => [
            <bdi key="name">{key.name}</bdi>,
            <code key="key">{key.key}</code>,
            key.type,
            names.get(key.workspaceId ?? '') ?? key.workspaceId ?? 'all',
            key.status,
            moment(key.createdAt),
            key.expiresAt === undefined ? 'never' : moment(key.expiresAt),
            <a key="entries" href={href('/logs', { key: key.id })} aria-label={`Entries of ${key.name}`}>
              Entries
            </a>,
          ])}
          empty="No key is there to be seen. A key lets a program or a person call the gateway."
        />
      )}
    </>
  );
}

function NewKey({ onMade }: { readonly onMade: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const name = useSignal('');
  const workspace = useSignal(homeWorkspace());
  const secret = useSignal('');
  const fault = useSignal('');
  const busy = useSignal(false);
  const open = (): void => {
    [name, secret, fault].forEach((one) => {
      one.value = '';
    });
    dialog.current?.showModal();
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    busy.value = true;
    fault.value = '';
    try {
      const held = session.value?.scopes ?? [];
      const scopes = CALLS.filter((scope) => session.value?.workspaceId === '' || held.includes(scope));
      const made = await client(ApiKeysService).createApiKey({
        type: 'workspace',
        subType: 'service',
        name: name.value,
        workspaceId: workspace.value,
        scopes,
      });
      secret.value = made.key;
      onMade();
    } catch (error) {
      fault.value = wordsOf(error);
    }
    busy.value = false;
  };
  const spaces = session.value?.workspaces ?? [];
  return (
    <>
      <button type="button" class="primary" onClick={open}>
        New key
      </button>
      <dialog ref={dialog} aria-label="New key">
        <h2>New key</h2>
        <form onSubmit={submit}>
          <Field
            label="Name"
            required
            maxLength={100}
            value={name.value}
            onInput={(event) => {
              name.value = event.currentTarget.value;
            }}
          />
          <Choice
            label="Workspace"
            value={workspace.value}
            options={spaces.map(({ id, name: text }) => [id, text] as const)}
            onChange={(id) => {
              workspace.value = id;
            }}
          />
          <p class="hint">The key may call models in its workspace.</p>
          {secret.value === '' && (
            <button type="submit" class="primary" disabled={busy.value}>
              Create
            </button>
          )}
        </form>
        {fault.value !== '' && <Alert>{fault.value}</Alert>}
        {secret.value !== '' && (
          <>
            <Field
              label="Secret"
              readOnly
              value={secret.value}
              onFocus={(event) => event.currentTarget.select()}
            />
            <p class="hint">Keep it: it is not shown again.</p>
            <button type="button" onClick={() => void navigator.clipboard.writeText(secret.value)}>
              Copy
            </button>
          </>
        )}
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </dialog>
    </>
  );
}
