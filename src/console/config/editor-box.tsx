// The place of the editor, which loads when it is opened.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Alert } from '../parts.tsx';
import type { Editor } from './editor.ts';

interface EditorBoxProps {
  readonly initial: string;
  /** Whose names are offered, by id. */
  readonly workspace: () => string;
  readonly onReady: (editor: Editor) => void;
}

export function EditorBox({ initial, workspace, onReady }: EditorBoxProps) {
  const place = useRef<HTMLDivElement>(null);
  const fault = useSignal(false);
  useEffect(() => {
    let made: Editor | undefined;
    let left = false;
    import('./editor.ts').then(
      ({ openEditor }) => {
        if (left || place.current === null) return;
        made = openEditor(place.current, initial, workspace);
        onReady(made);
      },
      () => {
        fault.value = true;
      },
    );
    return () => {
      left = true;
      made?.close();
    };
  }, []);
  return (
    <>
      {fault.value && <Alert>The editor could not be loaded. Reload to try again.</Alert>}
      <div class="editor" ref={place} />
    </>
  );
}
