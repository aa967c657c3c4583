// One config: its text, its faults where they are, what it would do, its versions and who uses it.
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { type Config, ConfigsService } from '../../../gen/gateway/admin/v2/configs_pb.ts';
import { client, detailOf, homeWorkspace, may, session } from '../api.ts';
import { Diff } from '../diff.tsx';
import { useNames } from '../names.ts';
import { Alert, Choice, Field, Head, Table, useLoaded } from '../parts.tsx';
import { go } from '../router.ts';
import { Versions } from '../versions.tsx';
import { DryRun } from './dry-run.tsx';
import type { Editor } from './editor.ts';
import { EditorBox } from './editor-box.tsx';
import { faultsOf, wordsWithLines } from './faults.ts';

const EMPTY = '{\n  "provider": "openai"\n}\n';

export function ConfigPage({ slug }: { readonly slug: string | undefined }) {
  const { value, error, reload } = useLoaded(slug ?? '', async (signal) => {
    if (slug === undefined) return { config: undefined, versions: [], uses: [] };
    const configs = client(ConfigsService);
    const [config, versions, usage] = await Promise.all([
      configs.getConfig({ slug }, { signal }),
      configs.listConfigVersions({ slug, pageSize: 50 }, { signal }),
      configs.getConfigUsage({ slug }, { signal }),
    ]);
    return { config, versions: versions.data, uses: usage.data };
  });
  return (
    <>
      {error !== undefined && (
        <>
          <Head title="Config" />
          <Alert>{error}</Alert>
        </>
      )}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && <Form key={value.config?.versionId ?? 'new'} {...value} onSaved={reload} />}
    </>
  );
}

interface FormProps {
  readonly config: Config | undefined;
  readonly versions: readonly Config[];
  readonly uses: readonly { readonly object: string; readonly id: string; readonly name: string }[];
  readonly onSaved: () => void;
}

function Form({ config, versions, uses, onSaved }: FormProps) {
  const name = useSignal(config?.name ?? '');
  const workspace = useSignal(config?.workspaceId ?? homeWorkspace());
  const editor = useRef<Editor | undefined>(undefined);
  const fault = useSignal('');
  const said = useSignal('');
  const busy = useSignal(false);
  const other = useSignal<Config | undefined>(undefined);

  const tell = (error: unknown): string => {
    const text = editor.current?.text() ?? '';
    editor.current?.show(faultsOf(error, text));
    return wordsWithLines(error, text);
  };
  const save = async (base: string | undefined): Promise<void> => {
    const text = editor.current?.text() ?? '';
    busy.value = true;
    fault.value = '';
    said.value = '';
    editor.current?.show([]);
    try {
      await write(config, { name: name.value, text, workspaceId: workspace.value, base });
      said.value = 'saved';
      other.value = undefined;
      if (config !== undefined) onSaved();
    } catch (error) {
      fault.value = tell(error);
      if (config !== undefined && detailOf(error)?.param === 'base_version_id')
        other.value = await client(ConfigsService)
          .getConfig({ slug: config.slug })
          .catch(() => undefined);
    }
    busy.value = false;
  };
  const spaces = session.value?.workspaces ?? [];
  return (
    <>
      <Head title={config === undefined ? 'New config' : 'Config'}>
        <span role="status">{said.value}</span>
      </Head>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save(config?.versionId);
        }}
      >
        <div class="filters">
          <Field
            label="Name"
            required
            maxLength={255}
            value={name.value}
            onInput={(event) => {
              name.value = event.currentTarget.value;
            }}
          />
          {config === undefined && session.value?.workspaceId === '' && spaces.length > 1 && (
            <Choice
              label="Workspace"
              value={workspace.value}
              options={spaces.map(({ id, name: text }) => [id, text] as const)}
              onChange={(id) => {
                workspace.value = id;
              }}
            />
          )}
        </div>
        <EditorBox
          initial={pretty(config?.config ?? EMPTY)}
          workspace={() => workspace.value}
          onReady={(made) => {
            editor.current = made;
          }}
        />
        {fault.value !== '' && <Alert>{fault.value}</Alert>}
        {may(config === undefined ? 'configs.create' : 'configs.update') && other.value === undefined && (
          <button type="submit" class="primary" disabled={busy.value}>
            Save
          </button>
        )}
      </form>
      {other.value !== undefined && (
        <Conflict
          theirs={other.value}
          mine={editor.current?.text() ?? ''}
          onTake={onSaved}
          onKeep={() => void save(other.value?.versionId)}
        />
      )}
      {may('completions.write', 'configs.read') && (
        <DryRun workspace={workspace.value} text={() => editor.current?.text() ?? ''} onFault={tell} />
      )}
      {config !== undefined && (
        <Saved versions={versions} uses={uses} onLoad={(text) => editor.current?.put(text)} />
      )}
    </>
  );
}

interface ConflictProps {
  readonly theirs: Config;
  readonly mine: string;
  readonly onTake: () => void;
  readonly onKeep: () => void;
}

/** Somebody saved it meanwhile: theirs and one's own, and what becomes of them. */
function Conflict({ theirs, mine, onTake, onKeep }: ConflictProps) {
  const saved = pretty(theirs.config ?? '');
  const nameOf = useNames();
  return (
    <section aria-label="Saved by another" class="part">
      <h2>Saved by another</h2>
      <p>
        It was saved meanwhile by <bdi>{nameOf(theirs.updatedBy)}</bdi>. Lines that they have and you have not
        are marked with -, yours with +.
      </p>
      <Diff label="Theirs and yours" before={saved} after={mine} />
      <h3>Theirs</h3>
      <pre class="body">{saved}</pre>
      <h3>Yours</h3>
      <pre class="body">{mine}</pre>
      <p class="actions">
        <button type="button" onClick={onTake}>
          Take theirs
        </button>
        <button type="button" onClick={onKeep}>
          Save mine over it
        </button>
      </p>
    </section>
  );
}

interface SavedProps {
  readonly versions: readonly Config[];
  readonly uses: FormProps['uses'];
  readonly onLoad: (text: string) => void;
}

function Saved({ versions, uses, onLoad }: SavedProps) {
  const nameOf = useNames();
  return (
    <>
      <Versions
        versions={versions.map(({ versionId = '', lastUpdatedAt, updatedBy, config = '' }, i) => {
          const text = pretty(config);
          const name = String(versions.length - i);
          return {
            id: versionId,
            name,
            at: lastUpdatedAt,
            note: <bdi>by {nameOf(updatedBy)}</bdi>,
            text,
            actions: i > 0 && (
              <button type="button" aria-label={`Edit version ${name}`} onClick={() => onLoad(text)}>
                Edit
              </button>
            ),
          };
        })}
      />
      <h2>Used by</h2>
      <Table
        label="Used by"
        columns={['Kind', 'Name']}
        rows={uses.map((use) => [use.object, <bdi key="name">{use.name}</bdi>])}
        empty="Nothing names this config yet. Callers do so in x-gateway-config, keys and workspaces by default."
      />
    </>
  );
}

interface Written {
  readonly name: string;
  readonly text: string;
  readonly workspaceId: string;
  /** The version that was changed. */
  readonly base: string | undefined;
}

async function write(config: Config | undefined, { name, text, workspaceId, base }: Written): Promise<void> {
  const configs = client(ConfigsService);
  const content = { value: { case: 'text', value: text } } as const;
  if (config === undefined) {
    const own = session.value?.workspaceId === '' ? { workspaceId } : {};
    const made = await configs.createConfig({ name, config: content, ...own });
    go(`/configs/${encodeURIComponent(made.slug)}`, true);
    return;
  }
  const from = base === undefined ? {} : { baseVersionId: base };
  await configs.updateConfig({ slug: config.slug, name, config: content, ...from });
}

function pretty(text: string): string {
  try {
    return `${JSON.stringify(JSON.parse(text), null, 2)}\n`;
  } catch {
    return text;
  }
}
