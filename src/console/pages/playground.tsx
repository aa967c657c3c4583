// Playground: a message to a model, and its answer as it comes.
import { create } from '@bufbuild/protobuf';
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import {
  ChatMessageSchema,
  ChatService,
  type CreateChatCompletionRequest,
  CreateChatCompletionRequestSchema,
} from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { client, homeWorkspace, session, wordsOf } from '../api.ts';
import { duration, whole } from '../figures.ts';
import { Alert, Choice, Field, Head } from '../parts.tsx';
import { ask, href, query } from '../router.ts';

interface Answer {
  readonly text: string;
  readonly state: 'idle' | 'busy' | 'done';
  readonly fault: string;
  readonly note: string;
  readonly entry: string;
}

const IDLE: Answer = { text: '', state: 'idle', fault: '', note: '', entry: '' };

interface Asked {
  readonly provider: string;
  readonly providerKey: string;
  readonly baseUrl: string;
  readonly model: string;
  readonly workspace: string;
  readonly system: string;
  readonly message: string;
}

/** Headers of a model call; what is left open is not sent. */
function headersOf({ provider, providerKey, baseUrl, workspace }: Asked): Record<string, string> {
  return {
    ...(provider && { 'x-gateway-provider': provider }),
    ...(providerKey && { authorization: `Bearer ${providerKey}` }),
    ...(baseUrl && { 'x-gateway-custom-host': baseUrl }),
    ...(session.value?.workspaceId === '' && { 'x-gateway-workspace-id': workspace }),
  };
}

function requestOf({ model, system, message }: Asked): CreateChatCompletionRequest {
  const said = (role: string, text: string) =>
    create(ChatMessageSchema, { role, content: { kind: { case: 'text', value: text } } });
  return create(CreateChatCompletionRequestSchema, {
    ...(model && { model }),
    messages: [...(system ? [said('system', system)] : []), said('user', message)],
    stream: true,
  });
}

export default function Playground() {
  const answer = useSignal<Answer>(IDLE);
  const workspace = useSignal(homeWorkspace());
  const running = useRef<AbortController | undefined>(undefined);
  const message = useSignal('');
  useEffect(() => () => running.current?.abort(), []);
  useReplay((text) => {
    message.value = text;
  });

  const run = async (asked: Asked): Promise<void> => {
    const control = new AbortController();
    running.current = control;
    const began = performance.now();
    let first: number | undefined;
    const set = (change: Partial<Answer>): void => {
      answer.value = { ...answer.value, ...change };
    };
    answer.value = { ...IDLE, state: 'busy' };
    try {
      const stream = client(ChatService).streamChatCompletion(requestOf(asked), {
        headers: headersOf(asked),
        signal: control.signal,
        onHeader: (headers) => set({ entry: headers.get('x-gateway-request-id') ?? '' }),
      });
      for await (const { choices, usage } of stream) {
        const piece = choices.map(({ delta }) => delta?.content ?? '').join('');
        if (piece !== '') first ??= performance.now() - began;
        set({
          text: answer.value.text + piece,
          ...(usage && { note: `${whole(usage.promptTokens)} + ${whole(usage.completionTokens)} tokens` }),
        });
      }
      const took = duration(performance.now() - began);
      set({
        note: [took, first && `first token ${duration(first)}`, answer.value.note].filter(Boolean).join(', '),
      });
    } catch (error) {
      set(control.signal.aborted ? { note: 'stopped' } : { fault: wordsOf(error) });
    }
    set({ state: 'done' });
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string): string => String(data.get(name) ?? '').trim();
    const asked: Asked = {
      provider: text('provider'),
      providerKey: text('provider_key'),
      baseUrl: text('base_url'),
      model: text('model'),
      workspace: workspace.value,
      system: text('system'),
      message: message.value,
    };
    // The address keeps the provider, the model and the base URL; credentials and messages stay out of it.
    ask({ provider: asked.provider, model: asked.model, base_url: asked.baseUrl }, true);
    void run(asked);
  };
  const { text, state, fault, note, entry } = answer.value;
  const spaces = session.value?.workspaces ?? [];
  return (
    <>
      <Head title="Playground" />
      <form class="playground" onSubmit={submit}>
        <div class="filters">
          <Field
            label="Provider"
            name="provider"
            placeholder="openai or @slug"
            defaultValue={query.value.get('provider') ?? ''}
          />
          <Field label="Provider API key" name="provider_key" class="masked" />
          <Field label="Base URL" name="base_url" defaultValue={query.value.get('base_url') ?? ''} />
          <Field label="Model" name="model" defaultValue={query.value.get('model') ?? ''} />
          {session.value?.workspaceId === '' && spaces.length > 1 && (
            <Choice
              label="Workspace"
              value={workspace.value}
              options={spaces.map(({ id, name }) => [id, name] as const)}
              onChange={(id) => {
                workspace.value = id;
              }}
            />
          )}
        </div>
        <div class="field">
          <label for="system">Instructions</label>
          <textarea id="system" name="system" rows={2} />
        </div>
        <div class="field">
          <label for="message">Message</label>
          <textarea
            id="message"
            name="message"
            rows={5}
            required
            value={message.value}
            onInput={(event) => {
              message.value = event.currentTarget.value;
            }}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
                event.currentTarget.form?.requestSubmit();
            }}
          />
        </div>
        <div class="actions">
          <button type="submit" class="primary" disabled={state === 'busy'}>
            Send
          </button>
          <button type="button" disabled={state !== 'busy'} onClick={() => running.current?.abort()}>
            Stop
          </button>
        </div>
      </form>
      {fault !== '' && <Alert>{fault}</Alert>}
      <section aria-label="Answer" class="part answer" aria-live="polite" aria-busy={state === 'busy'}>
        <h2>Answer</h2>
        <pre>{text}</pre>
        {note !== '' && <p class="hint">{note}</p>}
        {state === 'done' && entry !== '' && <a href={href(`/logs/${entry}`)}>Its entry in the log</a>}
        {state === 'idle' && (
          <p class="hint">The call counts and is in the log like every other, marked as the console's.</p>
        )}
      </section>
    </>
  );
}

/** Puts the last message of an entry into the field. */
function useReplay(put: (text: string) => void): void {
  const id = query.value.get('replay') ?? '';
  useEffect(() => {
    if (id === '') return;
    fetch(`/v1/logs/${encodeURIComponent(id)}`)
      .then((answer) => answer.json())
      .then(
        (log: {
          request?: { body?: { model?: string; messages?: { content?: unknown }[] } };
          entry?: { provider?: string };
        }) => {
          const { model = '', messages = [] } = log.request?.body ?? {};
          ask({ model, provider: log.entry?.provider ?? '', replay: '' }, true);
          const last = messages.at(-1)?.content;
          put(typeof last === 'string' ? last : JSON.stringify(last ?? ''));
        },
      )
      .catch(() => {});
  }, [id]);
}
