// Ctrl+K: goes to a page, or to the entry with an id.
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Page } from './pages.ts';
import { go } from './router.ts';

export function GoTo({ pages }: { readonly pages: readonly Page[] }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const text = useSignal('');
  const at = useSignal(0);
  useEffect(() => {
    const open = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      text.value = '';
      at.value = 0;
      if (!dialog.current?.open) dialog.current?.showModal();
    };
    addEventListener('keydown', open);
    return () => removeEventListener('keydown', open);
  }, [text, at]);
  const wanted = text.value.trim().toLowerCase();
  const found = pages
    .filter(({ name }) => name.toLowerCase().includes(wanted))
    .map(({ name, path }) => ({ name, to: path }));
  if (/^[\w-]{16,}$/.test(wanted)) found.push({ name: `Entry ${wanted}`, to: `/logs/${wanted}` });
  const choose = (to: string | undefined): void => {
    if (to === undefined) return;
    dialog.current?.close();
    go(to);
    document.getElementById('main')?.focus();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') {
      event.preventDefault();
      choose(found[at.value]?.to);
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const step = event.key === 'ArrowDown' ? 1 : -1;
      at.value = Math.max(0, Math.min(found.length - 1, at.value + step));
      requestAnimationFrame(() =>
        document.getElementById(`go-to-${at.value}`)?.scrollIntoView({ block: 'nearest' }),
      );
    }
  };
  return (
    <dialog ref={dialog} aria-label="Go to" class="go-to">
      <input
        role="combobox"
        aria-label="Go to"
        aria-expanded="true"
        aria-controls="go-to-list"
        aria-autocomplete="list"
        aria-activedescendant={found.length > 0 ? `go-to-${at.value}` : undefined}
        autocomplete="off"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          at.value = 0;
        }}
        onKeyDown={onKey}
      />
      <div id="go-to-list" role="listbox" aria-label="Pages">
        {found.map(({ name, to }, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keys
          <div
            key={to}
            id={`go-to-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at.value}
            onClick={() => choose(to)}
          >
            {name}
          </div>
        ))}
      </div>
    </dialog>
  );
}
