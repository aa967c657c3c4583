// A body as it was kept: text and nothing else. A long one is folded, and unfolded piece by piece.
import { useSignal } from '@preact/signals';
import { bytes } from './figures.ts';
import { download } from './parts.tsx';

/** Longer ones are folded. */
const FOLDED = 256 * 1024;
const PREVIEW = 2000;
const PIECE = 64 * 1024;

export function BodyText({ name, text }: { readonly name: string; readonly text: string }) {
  const isLong = text.length > FOLDED;
  const shown = useSignal(isLong ? PREVIEW : text.length);
  if (text === '') return <p class="hint">No body was kept.</p>;
  const pieces = [];
  for (let at = 0; at < shown.value; at += PIECE)
    pieces.push(text.slice(at, Math.min(shown.value, at + PIECE)));
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard */}
      <div class="body" tabIndex={0}>
        {pieces.map((piece, i) => (
          <pre key={i}>{piece}</pre>
        ))}
      </div>
      {shown.value < text.length && (
        <p class="folded">
          {bytes(text.length)}, folded.{' '}
          <button
            type="button"
            onClick={() => {
              shown.value = Math.min(text.length, shown.value + PIECE);
            }}
          >
            Show more
          </button>
        </p>
      )}
      {isLong && (
        <button
          type="button"
          onClick={() => download(`${name.toLowerCase()}.json`, 'application/json', [text])}
        >
          Download
        </button>
      )}
    </>
  );
}
