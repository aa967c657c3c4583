// Puts a text where the reader pastes it from.

/** Pages without TLS have no clipboard of their own, unless they are of this machine: there the browser copies a selection. */
export async function copy(text: string): Promise<void> {
  const clipboard: Clipboard | undefined = navigator.clipboard;
  const isCopied = await clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  if (isCopied) return;
  const before = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'copied';
  // What is outside of an open dialog takes no selection.
  (before?.closest('dialog') ?? document.body).append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
  if (before instanceof HTMLElement) before.focus();
}
