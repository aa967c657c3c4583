// What is shown once.
import { copy } from './copy.ts';
import { Field } from './parts.tsx';

export function Secret({ label = 'Secret', value }: { readonly label?: string; readonly value: string }) {
  return (
    <div class="once">
      <Field label={label} readOnly value={value} onFocus={(event) => event.currentTarget.select()} />
      <p class="hint">Keep it: it is not shown again.</p>
      <button type="button" onClick={() => void copy(value)}>
        Copy
      </button>
    </div>
  );
}
