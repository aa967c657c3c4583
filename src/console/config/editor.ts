// The editor of configs, in a shadow root: its styles are adopted there, and nothing is inline.
import { autocompletion } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { type Diagnostic, linter, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { completion } from './complete.ts';

/** What is wrong, and where: offsets of the text. */
export interface Fault {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

export interface Editor {
  text(): string;
  show(faults: readonly Fault[]): void;
  /** Another text in the place of the one that is there; it can be undone. */
  put(text: string): void;
  close(): void;
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

/** @param workspace whose names are offered, by id */
export function openEditor(place: HTMLElement, text: string, workspace: () => string): Editor {
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
        autocompletion({ override: [completion(workspace)] }),
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
    put: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    close: () => view.destroy(),
  };
}
