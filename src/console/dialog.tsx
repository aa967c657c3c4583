// A button that opens a form in a native dialog. It is in the page only while it is open.
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { wordsOf } from './api.ts';
import { textsOf } from './fields.tsx';
import { Alert } from './parts.tsx';

interface FormDialogProps {
  /** What the button says and the dialog is called. */
  readonly name: string;
  /** The button's name where the page has several of them, e.g. one in each row. */
  readonly label?: string;
  /** What the form's own button says. */
  readonly submit: string;
  readonly isPrimary?: boolean;
  readonly disabled?: boolean;
  readonly children?: ComponentChildren;
  /** Returns what the dialog shows afterwards, e.g. a secret; undefined closes it. @throws what the dialog then tells */
  readonly onSubmit: (
    texts: Readonly<Record<string, string>>,
    data: FormData,
    // biome-ignore lint/suspicious/noConfusingVoidType: most have nothing to show
  ) => Promise<ComponentChildren | void>;
}

export function FormDialog(props: FormDialogProps) {
  const { name, label, submit, isPrimary = false, disabled = false, children, onSubmit } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = useSignal(false);
  const busy = useSignal(false);
  const fault = useSignal('');
  const result = useSignal<ComponentChildren>(undefined);
  useEffect(() => {
    if (isOpen.value && !dialog.current?.open) dialog.current?.showModal();
  }, [isOpen.value]);
  const open = (): void => {
    fault.value = '';
    result.value = undefined;
    isOpen.value = true;
  };
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    busy.value = true;
    fault.value = '';
    try {
      const shown = await onSubmit(textsOf(data), data);
      if (shown === undefined) dialog.current?.close();
      else result.value = shown;
    } catch (error) {
      fault.value = wordsOf(error);
    }
    busy.value = false;
  };
  return (
    <>
      <button
        type="button"
        class={isPrimary ? 'primary' : undefined}
        aria-label={label}
        disabled={disabled}
        onClick={open}
      >
        {name}
      </button>
      {isOpen.value && (
        <dialog
          ref={dialog}
          aria-label={name}
          onCancel={(event) => {
            // What is being made is shown once: it is waited for.
            if (busy.value) event.preventDefault();
          }}
          onClose={() => {
            isOpen.value = false;
            result.value = undefined;
          }}
        >
          <h2>
            <bdi>{label ?? name}</bdi>
          </h2>
          {result.value ?? (
            <form onSubmit={send}>
              {children}
              <button type="submit" class="primary" disabled={busy.value}>
                {submit}
              </button>
            </form>
          )}
          {fault.value !== '' && <Alert>{fault.value}</Alert>}
          <button type="button" disabled={busy.value} onClick={() => dialog.current?.close()}>
            Close
          </button>
        </dialog>
      )}
    </>
  );
}
