// One config: its text, its faults where they are, its versions and who uses it.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { type Config, ConfigsService } from '../../gen/gateway/admin/v2/configs_pb.ts';
import { client, detailOf, homeWorkspace, may, session, wordsOf } from './api.ts';
import type { Editor, Fault } from './editor.ts';
import { moment } from './figures.ts';
import { Alert, Choice, Field, Head, Table, useLoaded } from './parts.tsx';
import { go } from './router.ts';

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
  const workspace = useSignal(homeWorkspace());
  const editor = useRef<Editor | undefined>(undefined);
  const fault = useSignal('');
  const said = useSignal('');
  const busy = useSignal(false);
  const other = useSignal<string | undefined>(undefined);
  const initial = pretty(config?.config ?? EMPTY);

  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    const text = editor.current?.text() ?? '';
    busy.value = true;
    fault.value = '';
    said.value = '';
    editor.current?.show([]);
    try {
      await write(config, { name: name.value, text, workspaceId: workspace.value });
      said.value = 'saved';
      if (config !== undefined) onSaved();
    } catch (error) {
      fault.value = wordsOf(error);
      editor.current?.show(faultsOf(error, text));
      if (config !== undefined && detailOf(error)?.param === 'base_version_id')
        other.value = pretty((await client(ConfigsService).getConfig({ slug: config.slug })).config ?? '');
    }
    busy.value = false;
  };
  const spaces = session.value?.workspaces ?? [];
  const mayWrite = may(config === undefined ? 'configs.create' : 'configs.update');
  return (
    <>
      <Head title={config === undefined ? 'New config' : 'Config'}>
        <span role="status">{said.value}</span>
      </Head>
      <form onSubmit={save}>
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
          initial={initial}
          onReady={(made) => {
            editor.current = made;
          }}
        />
        {fault.value !== '' && <Alert>{fault.value}</Alert>}
        {other.value !== undefined && (
          <section aria-label="Saved by another" class="part">
            <h2>Saved by another</h2>
            <pre class="body">{other.value}</pre>
            <button type="button" onClick={onSaved}>
              Take it
            </button>
          </section>
        )}
        {mayWrite && (
          <button type="submit" class="primary" disabled={busy.value}>
            Save
          </button>
        )}
      </form>
      {config !== undefined && (
        <>
          <h2>Versions</h2>
          <Table
            label="Versions"
            columns={['Saved', 'By', 'Difference']}
            rows={versions.map((version, i) => [
              moment(version.lastUpdatedAt),
              version.updatedBy,
              <Difference key="diff" before={versions[i + 1]?.config} after={version.config} />,
            ])}
            empty="There is one version."
          />
          <h2>Used by</h2>
          <Table
            label="Used by"
            columns={['Kind', 'Name']}
            rows={uses.map((use) => [use.object, use.name])}
            empty="Nothing names this config yet. Callers do so in x-gateway-config, keys and workspaces by default."
          />
        </>
      )}
    </>
  );
}

interface Written {
  readonly name: string;
  readonly text: string;
  readonly workspaceId: string;
}

async function write(config: Config | undefined, { name, text, workspaceId }: Written): Promise<void> {
  const configs = client(ConfigsService);
  const content = { value: { case: 'text', value: text } } as const;
  if (config === undefined) {
    const own = session.value?.workspaceId === '' ? { workspaceId } : {};
    const made = await configs.createConfig({ name, config: content, ...own });
    go(`/configs/${encodeURIComponent(made.slug)}`, true);
    return;
  }
  const base = config.versionId === undefined ? {} : { baseVersionId: config.versionId };
  await configs.updateConfig({ slug: config.slug, name, config: content, ...base });
}

/** Faults with the place in the text that they are about, as far as it is found. */
function faultsOf(error: unknown, text: string): Fault[] {
  const violations = detailOf(error)?.violations ?? [];
  return violations.map(({ field, message }) => {
    const names = field
      .replace(/^config\.?/, '')
      .split(/[.[\]]+/)
      .filter((name) => name !== '' && !/^\d+$/.test(name));
    let at = 0;
    let length = 1;
    for (const name of names) {
      const found = text.indexOf(`"${name}"`, at);
      if (found === -1) break;
      at = found;
      length = name.length + 2;
    }
    return { from: at, to: Math.min(text.length, at + length), message: `${field}: ${message}` };
  });
}

function pretty(text: string): string {
  try {
    return `${JSON.stringify(JSON.parse(text), null, 2)}\n`;
  } catch {
    return text;
  }
}

function EditorBox({
  initial,
  onReady,
}: {
  readonly initial: string;
  readonly onReady: (editor: Editor) => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let made: Editor | undefined;
    let left = false;
    void import('./editor.ts').then(({ openEditor }) => {
      if (left || place.current === null) return;
      made = openEditor(place.current, initial);
      onReady(made);
    });
    return () => {
      left = true;
      made?.close();
    };
  }, []);
  return <div class="editor" ref={place} />;
}

/** Lines that went and lines that came. */
function Difference({
  before,
  after,
}: {
  readonly before: string | undefined;
  readonly after: string | undefined;
}) {
  if (before === undefined) return <>first</>;
  const [old, now] = [pretty(before).split('\n'), pretty(after ?? '').split('\n')];
  const went = old.filter((line) => !now.includes(line)).slice(0, 5);
  const came = now.filter((line) => !old.includes(line)).slice(0, 5);
  return (
    <span class="diff">
      {went.map((line) => (
        <del key={`-${line}`}>{line.trim()}</del>
      ))}
      {came.map((line) => (
        <ins key={`+${line}`}>{line.trim()}</ins>
      ))}
    </span>
  );
}
