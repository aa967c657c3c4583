// Where the reader is: the address is the state, so that a reload and a link show the same.
import { computed, signal } from '@preact/signals';

/** Everything of the console is below it. */
export const BASE = '/console';

const address = signal(new URL(location.href));

/** The path below the base, e.g. `/logs/abc`. */
export const path = computed(() => address.value.pathname.slice(BASE.length).replace(/\/+$/, '') || '/');
export const query = computed(() => address.value.searchParams);

/** Goes to a path of the console with its query. */
export function go(to: string, replace = false): void {
  const url = new URL(BASE + to, location.href);
  if (url.href === address.value.href) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', url);
  address.value = url;
}

/** Sets members of the query and keeps the others; an empty text removes one. */
export function ask(changes: Readonly<Record<string, string>>, replace = false): void {
  const params = new URLSearchParams(query.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') params.delete(name);
    else params.set(name, value);
  }
  const text = params.toString();
  go(path.value + (text === '' ? '' : `?${text}`), replace);
}

/** The members but some. */
export function without(params: URLSearchParams, ...names: readonly string[]): URLSearchParams {
  return new URLSearchParams([...params].filter(([name]) => !names.includes(name)));
}

/** A link within the console. */
export function href(to: string, params: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(params).filter((pair): pair is [string, string] => (pair[1] ?? '') !== '');
  return BASE + to + (given.length === 0 ? '' : `?${new URLSearchParams(given)}`);
}

addEventListener('popstate', () => {
  address.value = new URL(location.href);
});

// Links of the console change the address and load nothing.
addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey)
    return;
  const link = (event.target as Element | null)?.closest?.('a');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (link.pathname !== BASE && !link.pathname.startsWith(`${BASE}/`)) return;
  if (link.getAttribute('href')?.startsWith('#')) return;
  event.preventDefault();
  go(link.pathname.slice(BASE.length) + link.search);
});
