// Two texts compared line by line.
import { useLoaded } from './parts.tsx';

interface DiffProps {
  readonly label: string;
  readonly before: string;
  readonly after: string;
}

export function Diff({ label, before, after }: DiffProps) {
  // Loaded when it is wanted: most pages compare nothing.
  const { value } = useLoaded(`${before}\0${after}`, async () =>
    (await import('./diff-lines.ts')).diffLines(before, after),
  );
  if (value === undefined) return <p class="empty">Comparing…</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
    <section class="diff body" aria-label={label} tabIndex={0}>
      {value.length === 0 && <p class="hint">They are the same.</p>}
      {value.map(({ kind, text }, i) => {
        if (kind === 'gone') return <del key={i}>{text}</del>;
        if (kind === 'came') return <ins key={i}>{text}</ins>;
        return (
          <span key={i} class={kind}>
            {text}
          </span>
        );
      })}
    </section>
  );
}
