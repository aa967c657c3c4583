// One prompt: its template, its versions, which of them is published, and a run of it.
import { type Prompt, PromptsService, type PromptVersion } from '../../../gen/gateway/admin/v2/prompts_pb.ts';
import { Action } from '../action.tsx';
import { client, may } from '../api.ts';
import { Alert, Head, useLoaded } from '../parts.tsx';
import { Versions } from '../versions.tsx';
import { PromptForm } from './form.tsx';
import { PromptRun } from './run.tsx';
import { templateText } from './template.ts';

export function PromptPage({ slug }: { readonly slug: string | undefined }) {
  const { value, error, reload } = useLoaded(slug ?? '', async (signal) => {
    if (slug === undefined) return { prompt: undefined, versions: [] };
    const prompts = client(PromptsService);
    const [prompt, versions] = await Promise.all([
      prompts.getPrompt({ promptId: slug, version: 'latest' }, { signal }),
      prompts.listPromptVersions({ promptId: slug, pageSize: 100 }, { signal }),
    ]);
    return { prompt, versions: versions.data };
  });
  const prompt = value?.prompt;
  return (
    <>
      <Head title={slug === undefined ? 'New prompt' : (prompt?.name ?? 'Prompt')} />
      {error !== undefined && <Alert>{error}</Alert>}
      {value === undefined && error === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && (
        <PromptForm key={prompt?.promptVersionId ?? 'new'} prompt={prompt} onSaved={reload} />
      )}
      {prompt !== undefined && value !== undefined && (
        <>
          {may('completions.write') && <PromptRun prompt={prompt} versions={value.versions} />}
          <PromptVersions prompt={prompt} versions={value.versions} onChanged={reload} />
        </>
      )}
    </>
  );
}

interface PromptVersionsProps {
  readonly prompt: Prompt;
  readonly versions: readonly PromptVersion[];
  readonly onChanged: () => void;
}

function PromptVersions({ prompt, versions, onChanged }: PromptVersionsProps) {
  const publish = async (version: number): Promise<void> => {
    await client(PromptsService).publishPrompt({ promptId: prompt.slug, version });
    onChanged();
  };
  return (
    <Versions
      versions={versions.map(
        ({ id, promptVersion, createdAt, promptDescription, status, promptTemplate }) => ({
          id,
          name: String(promptVersion),
          at: createdAt,
          note: (
            <>
              {status === 'active' && <strong>published </strong>}
              <bdi>{promptDescription ?? ''}</bdi>
            </>
          ),
          text: templateText(promptTemplate),
          actions: status !== 'active' && may('prompts.publish') && (
            <Action
              name="Publish"
              label={`Publish version ${promptVersion}`}
              run={() => publish(promptVersion)}
            />
          ),
        }),
      )}
    />
  );
}
