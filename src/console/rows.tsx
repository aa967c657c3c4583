// A table of many rows: only those in sight are in the page.
import { useSignal } from '@preact/signals';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export const ROW_PX = 32;
const MARGIN = 4;

interface RowsProps<R> {
  readonly label: string;
  readonly columns: readonly string[];
  readonly rows: readonly R[];
  readonly keyOf: (row: R) => string;
  /** The cells; the first one holds the row's link. */
  readonly cellsOf: (row: R) => readonly ComponentChildren[];
  /** The end comes into sight. */
  readonly onEnd: () => void;
  /** Whether the reader is at the top and nowhere else: rows may come in there. */
  readonly onTop: (isTop: boolean) => void;
}

/** Keys: `j` and `k` go from row to row, Enter opens the row's link. */
export function Rows<R>({ label, columns, rows, keyOf, cellsOf, onEnd, onTop }: RowsProps<R>) {
  const box = useRef<HTMLElement>(null);
  const place = useSignal({ top: 0, height: 600 });
  const current = useSignal<string | undefined>(undefined);
  const { top, height } = place.value;
  const first = Math.max(0, Math.floor(top / ROW_PX) - MARGIN);
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW_PX) + MARGIN);

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = (): void => {
      place.value = { top: element.scrollTop, height: element.clientHeight };
    };
    const sized = new ResizeObserver(measure);
    sized.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      sized.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, [place]);
  useEffect(() => {
    if (last >= rows.length - 10) onEnd();
  }, [last, rows.length, onEnd]);
  const isHeld = useHeld(box);
  useEffect(
    () => onTop(top === 0 && current.value === undefined && !isHeld),
    [top, current.value, isHeld, onTop],
  );

  // Rows that come in above leave those in sight where they are.
  const before = useRef<{ readonly key: string; readonly index: number } | undefined>(undefined);
  useEffect(() => {
    const element = box.current;
    const seen = before.current;
    if (element !== null && seen !== undefined && element.scrollTop > 0 && rows[seen.index] !== undefined) {
      const now = rows.findIndex((row) => keyOf(row) === seen.key);
      if (now > seen.index) element.scrollTop += (now - seen.index) * ROW_PX;
    }
  }, [rows, keyOf]);
  const anchor = rows[first];
  before.current = anchor === undefined ? undefined : { key: keyOf(anchor), index: first };

  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const typed = (event.target as Element | null)?.closest?.(
        'input, select, textarea, dialog, [contenteditable]',
      );
      if (typed || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key !== 'j' && event.key !== 'k') return;
      event.preventDefault();
      const at = rows.findIndex((row) => keyOf(row) === current.value);
      const next = Math.max(0, Math.min(rows.length - 1, at + (event.key === 'j' ? 1 : -1)));
      const row = rows[next];
      const element = box.current;
      if (row === undefined || element === null) return;
      current.value = keyOf(row);
      const y = next * ROW_PX;
      if (y < element.scrollTop) element.scrollTop = y;
      else if (y + 3 * ROW_PX > element.scrollTop + element.clientHeight)
        element.scrollTop = y + 3 * ROW_PX - element.clientHeight;
      requestAnimationFrame(() => focusRow(element, next));
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [rows, keyOf, current]);

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
    <section class="rows" ref={box} tabIndex={0} aria-label={`${label}, scrollable`}>
      <table aria-label={label} aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <Space rows={first} columns={columns.length} />}
          {rows.slice(first, last).map((row, i) => (
            <tr
              key={keyOf(row)}
              aria-rowindex={first + i + 2}
              data-row={first + i}
              class={current.value === keyOf(row) ? 'current' : undefined}
            >
              {cellsOf(row).map((cell, column) => (
                <td key={columns[column]}>{cell}</td>
              ))}
            </tr>
          ))}
          {last < rows.length && <Space rows={rows.length - last} columns={columns.length} />}
        </tbody>
      </table>
    </section>
  );
}

/** Whether the reader has a row's link in focus, or some of the rows' text selected. */
function useHeld(box: RefObject<HTMLElement | null>): boolean {
  const held = useSignal(false);
  useEffect(() => {
    const look = (): void => {
      const body = box.current?.querySelector('tbody');
      const selection = getSelection();
      const isSelected = selection !== null && !selection.isCollapsed && body?.contains(selection.anchorNode);
      held.value = body?.contains(document.activeElement) || isSelected || false;
    };
    const events = ['focusin', 'focusout', 'selectionchange'] as const;
    for (const event of events) document.addEventListener(event, look);
    return () => {
      for (const event of events) document.removeEventListener(event, look);
    };
  }, [box, held]);
  return held.value;
}

/** The height of rows that are out of sight. */
function Space({ rows, columns }: { readonly rows: number; readonly columns: number }) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row takes no focus
    <tr aria-hidden="true" class="space">
      <td colSpan={columns} style={{ height: `${rows * ROW_PX}px` }} />
    </tr>
  );
}

function focusRow(box: HTMLElement, index: number, tries = 3): void {
  const link = box.querySelector<HTMLElement>(`tr[data-row="${index}"] a`);
  if (link !== null) link.focus({ preventScroll: true });
  else if (tries > 0) requestAnimationFrame(() => focusRow(box, index, tries - 1));
}
