// A run of a prompt: its variables, and the answer as it comes. It counts and is logged like every call.
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { type Prompt, PromptsService, type PromptVersion } from '../../../gen/gateway/admin/v2/prompts_pb.ts';
import { client } from '../api.ts';
import { Area } from '../fields.tsx';
import { Alert, Choice, useLoaded } from '../parts.tsx';
import { AnswerPart } from '../playground/answer.tsx';
import { headersOf, type Target } from '../playground/asked.ts';
import { TargetFields } from '../playground/target-fields.tsx';
import { ask, query } from '../router.ts';
import { Run } from '../run.ts';

const FIELD = 'variable.';

interface PromptRunProps {
  readonly prompt: Prompt;
  readonly versions: readonly PromptVersion[];
}

export function PromptRun({ prompt, versions }: PromptRunProps) {
  const run = useMemo(() => new Run(), []);
  useEffect(() => () => run.stop(), [run]);
  const target = useSignal<Target>({ provider: '', providerKey: '', baseUrl: '', model: '' });
  const wanted = query.value.get('version') ?? String(versions[0]?.promptVersion ?? 1);
  const { value, error } = useLoaded(`${prompt.slug} ${wanted}`, (signal) =>
    client(PromptsService).getPrompt({ promptId: prompt.slug, version: wanted }, { signal }),
  );
  const { variables = [], sections = [] } = value?.variableComponents ?? {};
  const submit = (event: Event): void => {
    event.preventDefault();
    const given = [...new FormData(event.currentTarget as HTMLFormElement)].flatMap(([name, text]) =>
      name.startsWith(FIELD) && text !== '' ? [[name.slice(FIELD.length), String(text)] as const] : [],
    );
    const { model } = target.value;
    void run.start({
      path: `/prompts/${encodeURIComponent(prompt.slug)}@${wanted}/completions`,
      headers: headersOf(target.value, prompt.promptOwningWorkspaceId),
      body: { variables: Object.fromEntries(given), ...(model && { model }) },
    });
  };
  const isBusy = run.answer.value.state === 'busy';
  return (
    <section aria-label="Run" class="part">
      <h2>Run</h2>
      {error !== undefined && <Alert>{error}</Alert>}
      <form class="playground" onSubmit={submit}>
        <div class="filters">
          <Choice
            label="Version"
            value={wanted}
            options={versions.map(
              ({ promptVersion }) => [String(promptVersion), String(promptVersion)] as const,
            )}
            onChange={(version) => ask({ version }, true)}
          />
        </div>
        {[...new Set([...variables, ...sections])].map((name) => (
          <Area key={name} label={name} name={FIELD + name} rows={2} />
        ))}
        {prompt.virtualKey === undefined && <TargetFields target={target} mark=" of the run" />}
        <p class="actions">
          <button type="submit" class="primary" disabled={isBusy || value === undefined}>
            Run
          </button>
          <button type="button" disabled={!isBusy} onClick={() => run.stop()}>
            Stop
          </button>
        </p>
      </form>
      <AnswerPart name="Answer" run={run} />
    </section>
  );
}
