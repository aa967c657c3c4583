// The editor of configs, in a shadow root: its styles are adopted there, and nothing is inline.
import { autocompletion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { type Diagnostic, linter, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';

/** What is wrong, and where: offsets of the text. */
export interface Fault {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

export interface Editor {
  text(): string;
  show(faults: readonly Fault[]): void;
  close(): void;
}

/** Members of configs. */
const MEMBERS = [
  ...['strategy', 'mode', 'targets', 'conditions', 'query', 'then', 'default', 'weight', 'name'],
  ...['provider', 'virtual_key', 'api_key', 'model', 'custom_host', 'override_params', 'retry', 'attempts'],
  ...['on_status_codes', 'cache', 'max_age', 'request_timeout', 'forward_headers', 'input_guardrails'],
  ...[
    'output_guardrails',
    'metadata',
    'on_exhausted',
    'circuit_breaker',
    'fallback',
    'loadbalance',
    'conditional',
  ],
];

function complete(context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/"?[\w-]*/);
  if (word === null || (word.from === word.to && !context.explicit)) return null;
  return { from: word.from, options: MEMBERS.map((label) => ({ label: `"${label}"`, type: 'property' })) };
}

const theme = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--paper-2)', fontSize: '14px' },
  '.cm-content': { fontFamily: 'ui-monospace, monospace', caretColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--paper-2)', color: 'var(--ink-2)', border: 'none' },
  '&.cm-focused': { outline: '2px solid var(--accent)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--ink-2)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-tooltip': { backgroundColor: 'var(--paper)', color: 'var(--ink)', border: '1px solid var(--line)' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { backgroundColor: 'var(--chosen)' },
});

export function openEditor(place: HTMLElement, text: string): Editor {
  const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' });
  const parse = jsonParseLinter();
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        json(),
        linter((view): Diagnostic[] => (view.state.doc.length === 0 ? [] : parse(view))),
        autocompletion({ override: [complete] }),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': 'Config' }),
        theme,
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    show: (faults) => {
      const { length } = view.state.doc;
      const shown = faults.map(({ from, to, message }) => ({
        from: Math.min(from, length),
        to: Math.min(to, length),
        severity: 'error' as const,
        message,
      }));
      view.dispatch(setDiagnostics(view.state, shown));
    },
    close: () => view.destroy(),
  };
}
