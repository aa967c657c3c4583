// What a prompt says. Saving makes a version, which is published apart from that.
import type { JsonObject } from '@bufbuild/protobuf';
import { useSignal } from '@preact/signals';
import { type Prompt, PromptsService } from '../../../gen/gateway/admin/v2/prompts_pb.ts';
import { client, homeWorkspace, may, session, wordsOf } from '../api.ts';
import { Area, arrayOf, objectOf, Select, textsOf } from '../fields.tsx';
import { Alert, Field } from '../parts.tsx';
import { go } from '../router.ts';
import { spaced } from './template.ts';

type Texts = Readonly<Record<string, string>>;

interface PromptFormProps {
  readonly prompt: Prompt | undefined;
  readonly onSaved: () => void;
}

const FIRST =
  '[\n  {"role": "system", "content": "Be brief."},\n  {"role": "user", "content": "{{question}}"}\n]';

export function PromptForm({ prompt, onSaved }: PromptFormProps) {
  const fault = useSignal('');
  const said = useSignal('');
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    const texts = textsOf(new FormData(event.currentTarget as HTMLFormElement));
    fault.value = '';
    said.value = '';
    try {
      if (prompt === undefined) return go(`/prompts/${encodeURIComponent(await made(texts))}`, true);
      await changed(prompt, texts);
      said.value = 'saved';
      onSaved();
    } catch (error) {
      fault.value = wordsOf(error);
    }
  };
  const spaces = session.value?.workspaces ?? [];
  const written = initialOf(prompt);
  return (
    <form class="playground" onSubmit={save}>
      <div class="filters">
        <Field label="Name" name="name" required maxLength={255} defaultValue={written.name ?? ''} />
        <Field label="Model" name="model" defaultValue={written.model ?? ''} placeholder="as the call says" />
        <Field
          label="Stored provider"
          name="provider"
          defaultValue={written.provider ?? ''}
          placeholder="slug, or as the call says"
        />
        {prompt === undefined && session.value?.workspaceId === '' && spaces.length > 1 && (
          <Select
            label="Workspace"
            name="workspace"
            defaultValue={homeWorkspace()}
            options={spaces.map(({ id, name }) => [id, name] as const)}
          />
        )}
      </div>
      <Area
        label="Template"
        name="template"
        rows={10}
        required
        maxLength={262_144}
        defaultValue={written.template ?? FIRST}
      />
      <p class="hint">
        Messages as a JSON array, or plain text for a text completion. {'{{name}}'} is a variable,{' '}
        {'{{#name}}…{{/name}}'} a section, {'{{>name}}'} a partial.
      </p>
      <Area label="Parameters" name="parameters" rows={2} defaultValue={written.parameters ?? ''} />
      <Area label="Tools" name="tools" rows={2} defaultValue={written.tools ?? ''} />
      <Field label="What is new" name="about" maxLength={1024} />
      {fault.value !== '' && <Alert>{fault.value}</Alert>}
      <p class="actions">
        {may(prompt === undefined ? 'prompts.create' : 'prompts.update') && (
          <button type="submit" class="primary">
            Save
          </button>
        )}
        <span role="status">{said.value}</span>
      </p>
    </form>
  );
}

function initialOf(prompt: Prompt | undefined): Texts {
  if (prompt === undefined) return {};
  const { name, model, virtualKey, string = '', parameters = {}, tools } = prompt;
  return {
    name,
    template: spaced(string),
    ...(model && { model }),
    ...(virtualKey && { provider: virtualKey }),
    ...(Object.keys(parameters).length > 0 && { parameters: JSON.stringify(parameters, null, 2) }),
    ...(tools.length > 0 && { tools: JSON.stringify(tools, null, 2) }),
  };
}

/** @throws Error that names the field at fault */
function contentOf({ template = '', parameters, tools, model, about }: Texts) {
  const given = arrayOf('Tools', tools) as JsonObject[];
  return {
    string: template,
    parameters: objectOf('Parameters', parameters) as JsonObject,
    ...(model === undefined ? {} : { model }),
    ...(given.length === 0 ? {} : { tools: given }),
    ...(about === undefined ? {} : { versionDescription: about }),
  };
}

/** @returns the slug */
async function made(texts: Texts): Promise<string> {
  const { name = '', provider, workspace } = texts;
  const { slug } = await client(PromptsService).createPrompt({
    name,
    ...contentOf(texts),
    ...(provider === undefined ? {} : { virtualKey: provider }),
    ...(session.value?.workspaceId === '' ? { workspaceId: workspace ?? homeWorkspace() } : {}),
  });
  return slug;
}

/** What did not change is not sent: only another content is a new version. */
async function changed(prompt: Prompt, texts: Texts): Promise<void> {
  const before = initialOf(prompt);
  const differs = (name: string): boolean => (texts[name] ?? '') !== (before[name] ?? '').trim();
  const gone = (name: string): boolean => texts[name] === undefined && before[name] !== undefined;
  const isNew = ['template', 'parameters', 'tools', 'model'].some(differs);
  const clear = [
    ...(gone('model') ? ['model'] : []),
    ...(gone('tools') ? ['tools'] : []),
    ...(gone('provider') ? ['virtual_key'] : []),
  ];
  await client(PromptsService).updatePrompt({
    promptId: prompt.slug,
    ...(differs('name') ? { name: texts.name ?? '' } : {}),
    ...(isNew ? { ...contentOf(texts), patch: true } : {}),
    ...(!isNew && texts.about !== undefined ? { versionDescription: texts.about } : {}),
    ...(differs('provider') && texts.provider !== undefined ? { virtualKey: texts.provider } : {}),
    clear,
  });
}
