// An answer as it comes, and the way to its entry.
import { Alert } from '../parts.tsx';
import { href } from '../router.ts';
import type { Run } from '../run.ts';

export function AnswerPart({ name, run }: { readonly name: string; readonly run: Run }) {
  const { text, state, fault, note, entry } = run.answer.value;
  return (
    <section aria-label={name} class="part answer" aria-live="polite" aria-busy={state === 'busy'}>
      <h2>{name}</h2>
      {fault !== '' && <Alert>{fault}</Alert>}
      <pre dir="auto">{text}</pre>
      {note !== '' && <p class="hint">{note}</p>}
      {state === 'done' && entry !== '' && <a href={href(`/logs/${entry}`)}>Its entry in the log</a>}
      {state === 'idle' && (
        <p class="hint">The call counts and is in the log like every other, marked as the console's.</p>
      )}
    </section>
  );
}
