// A button that does something at once, and says what went wrong next to it.
import { useSignal } from '@preact/signals';
import { wordsOf } from './api.ts';
import { Alert } from './parts.tsx';

interface ActionProps {
  readonly name: string;
  /** The button's name where the page has several of them. */
  readonly label?: string;
  readonly run: () => Promise<void>;
}

export function Action({ name, label, run }: ActionProps) {
  const busy = useSignal(false);
  const fault = useSignal('');
  const start = async (): Promise<void> => {
    busy.value = true;
    fault.value = '';
    await run().catch((error: unknown) => {
      fault.value = wordsOf(error);
    });
    busy.value = false;
  };
  return (
    <>
      <button type="button" aria-label={label} disabled={busy.value} onClick={() => void start()}>
        {name}
      </button>
      {fault.value !== '' && <Alert>{fault.value}</Alert>}
    </>
  );
}
