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
      {piecesOf(text).map((piece, i) => (
        <pre key={i} dir="auto">
          {piece}
        </pre>
      ))}
      {note !== '' && <p class="hint">{note}</p>}
      {state === 'done' && entry !== '' && <a href={href(`/logs/${entry}`)}>Its entry in the log</a>}
      {state === 'idle' && (
        <p class="hint">The call counts and is in the log like every other, marked as the console's.</p>
      )}
    </section>
  );
}

/** A long answer is laid out piece by piece: what is there does not change while more of it comes. */
const PIECE = 16 * 1024;

function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  let at = 0;
  while (text.length - at > 2 * PIECE) {
    // Lines stay whole where they are not longer than a piece.
    const line = text.indexOf('\n', at + PIECE);
    const end = line === -1 || line > at + 2 * PIECE ? at + 2 * PIECE : line;
    pieces.push(text.slice(at, end));
    at = end + (text[end] === '\n' ? 1 : 0);
  }
  return [...pieces, text.slice(at)];
}
