// Playground: a message to one model or to two side by side, and the answers as they come.
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { homeWorkspace, session } from '../api.ts';
import { Area } from '../fields.tsx';
import { Alert, Choice, Field, Head } from '../parts.tsx';
import { AnswerPart } from '../playground/answer.tsx';
import { type Asked, callOf, NOTHING, type Target } from '../playground/asked.ts';
import { Price } from '../playground/price.tsx';
import { useReplay } from '../playground/replay.ts';
import { Save } from '../playground/save.tsx';
import { TargetFields } from '../playground/target-fields.tsx';
import { ask, query } from '../router.ts';
import { Run } from '../run.ts';

/** What the address says of a target; credentials and messages stay out of it. */
function targetOf(mark: string): Target {
  const text = (name: string): string => query.value.get(name + mark) ?? '';
  return { provider: text('provider'), providerKey: '', baseUrl: text('base_url'), model: text('model') };
}

function addressOf({ provider, model, baseUrl }: Target, mark: string): Record<string, string> {
  return { [`provider${mark}`]: provider, [`model${mark}`]: model, [`base_url${mark}`]: baseUrl };
}

interface Side {
  readonly mark: string;
  readonly target: Signal<Target>;
  readonly run: Run;
}

function useSide(mark: string): Side {
  const target = useSignal(targetOf(mark));
  const run = useMemo(() => new Run(), []);
  const [provider, model, baseUrl] = [`provider${mark}`, `model${mark}`, `base_url${mark}`].map((name) =>
    query.value.get(name),
  );
  useEffect(() => () => run.stop(), [run]);
  // A link, a step back or a replay says it anew.
  useEffect(() => {
    target.value = { ...targetOf(mark), providerKey: target.value.providerKey };
  }, [provider, model, baseUrl]);
  return { mark, target, run };
}

export default function Playground() {
  const asked = useSignal<Asked>({ ...NOTHING, workspace: homeWorkspace() });
  const fault = useSignal('');
  const isDouble = query.value.get('side_by_side') === '1';
  const both = [useSide(''), useSide('2')];
  const sides = isDouble ? both : both.slice(0, 1);
  const set = (change: Partial<Asked>): void => {
    asked.value = { ...asked.value, ...change };
  };
  useReplay(set, (words) => {
    fault.value = words;
  });
  const submit = (event: Event): void => {
    event.preventDefault();
    fault.value = '';
    try {
      const calls = sides.map(({ target, run }) => ({ run, call: callOf(asked.value, target.value) }));
      ask(Object.assign({}, ...sides.map(({ target, mark }) => addressOf(target.value, mark))), true);
      for (const { run, call } of calls) void run.start(call);
    } catch (error) {
      fault.value = error instanceof Error ? error.message : String(error);
    }
  };
  const isBusy = sides.some(({ run }) => run.answer.value.state === 'busy');
  const stop = (): void => {
    for (const { run } of both) run.stop();
  };
  return (
    <>
      <Head title="Playground">
        <button
          type="button"
          aria-pressed={isDouble}
          onClick={() => ask({ side_by_side: isDouble ? '' : '1' })}
        >
          Side by side
        </button>
      </Head>
      <form class="playground" onSubmit={submit}>
        {sides.map(({ target, mark }) => (
          <TargetFields key={mark} target={target} mark={mark === '' ? '' : ` ${mark}`} />
        ))}
        <AskedFields asked={asked.value} set={set} />
        {sides.map(({ target, mark }) => (
          <Price
            key={mark}
            label={mark === '' ? 'Price' : `Price ${mark}`}
            {...target.value}
            workspace={asked.value.workspace}
            text={Object.values({ ...asked.value, workspace: '', maxTokens: '' }).join('')}
            maxTokens={Number(asked.value.maxTokens) || 0}
          />
        ))}
        {fault.value !== '' && <Alert>{fault.value}</Alert>}
        <div class="actions">
          <button type="submit" class="primary" disabled={isBusy}>
            Send
          </button>
          <button type="button" disabled={!isBusy} onClick={stop}>
            Stop
          </button>
          <Save asked={asked.value} target={both[0]?.target.value ?? targetOf('')} />
        </div>
      </form>
      <div class="sides">
        {sides.map(({ run, mark }) => (
          <AnswerPart key={mark} name={mark === '' ? 'Answer' : `Answer ${mark}`} run={run} />
        ))}
      </div>
    </>
  );
}

interface AskedFieldsProps {
  readonly asked: Asked;
  readonly set: (change: Partial<Asked>) => void;
}

function AskedFields({ asked, set }: AskedFieldsProps) {
  const spaces = session.value?.workspaces ?? [];
  // Once it has something it stays open, also while a field is cleared.
  const hasMore = useRef(false);
  hasMore.current ||= asked.tools !== '' || asked.parameters !== '' || asked.maxTokens !== '';
  const put =
    (name: keyof Asked) =>
    ({ currentTarget }: { readonly currentTarget: HTMLInputElement | HTMLTextAreaElement }): void =>
      set({ [name]: currentTarget.value });
  return (
    <>
      {session.value?.workspaceId === '' && spaces.length > 1 && (
        <Choice
          label="Workspace"
          value={asked.workspace}
          options={spaces.map(({ id, name }) => [id, name] as const)}
          onChange={(workspace) => set({ workspace })}
        />
      )}
      <Area label="Instructions" rows={2} value={asked.system} onInput={put('system')} />
      {asked.before !== '' && (
        <Area label="Conversation before" rows={6} value={asked.before} onInput={put('before')} />
      )}
      <Area
        label="Message"
        rows={5}
        required
        value={asked.message}
        onInput={put('message')}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
            event.currentTarget.form?.requestSubmit();
        }}
      />
      <details open={hasMore.current}>
        <summary>Tools and parameters</summary>
        <Area
          label="Tools"
          rows={4}
          placeholder='[{"type": "function", "function": {"name": "…", "parameters": {…}}}]'
          value={asked.tools}
          onInput={put('tools')}
        />
        <Area
          label="Parameters"
          rows={2}
          placeholder='{"temperature": 0}'
          value={asked.parameters}
          onInput={put('parameters')}
        />
        <Field label="Max tokens" inputMode="numeric" value={asked.maxTokens} onInput={put('maxTokens')} />
      </details>
    </>
  );
}
