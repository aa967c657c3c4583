// To whom a call goes.
import type { Signal } from '@preact/signals';
import { Field } from '../parts.tsx';
import type { Target } from './asked.ts';

/** @param mark what tells the fields of a second target apart, e.g. ` 2` */
export function TargetFields({ target, mark }: { readonly target: Signal<Target>; readonly mark: string }) {
  const { provider, providerKey, baseUrl, model } = target.value;
  const change =
    (name: keyof Target) =>
    ({ currentTarget }: { readonly currentTarget: HTMLInputElement }): void => {
      target.value = { ...target.value, [name]: currentTarget.value.trim() };
    };
  return (
    <div class="filters">
      <Field
        label={`Provider${mark}`}
        placeholder="openai or @slug"
        value={provider}
        onInput={change('provider')}
      />
      <Field
        label={`Provider API key${mark}`}
        class="masked"
        value={providerKey}
        onInput={change('providerKey')}
      />
      <Field label={`Base URL${mark}`} value={baseUrl} onInput={change('baseUrl')} />
      <Field label={`Model${mark}`} value={model} onInput={change('model')} />
    </div>
  );
}
