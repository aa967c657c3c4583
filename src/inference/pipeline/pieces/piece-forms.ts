// The form of each operation's pieces.
import { type GuardrailView, type OperationName, operationRow } from '../../../providers/operations.ts';
import { BYTES } from './bytes.ts';
import { CHOICES } from './choices.ts';
import { CONVERSE } from './converse.ts';
import { GEMINI } from './gemini.ts';
import { IMAGES } from './images.ts';
import { INVOKE } from './invoke.ts';
import { MESSAGES } from './messages.ts';
import type { PieceForm } from './piece-form.ts';
import { RESPONSES } from './responses.ts';

const FORMS: Partial<Readonly<Record<GuardrailView, PieceForm>>> = {
  images: IMAGES,
  messages: MESSAGES,
  responses: RESPONSES,
  speech: BYTES,
  transcripts: BYTES,
  gemini: GEMINI,
  converse: CONVERSE,
  invoke: INVOKE,
};

/** How the operation's answers come in pieces, and how they are read. */
export function pieceForm(name: OperationName): PieceForm {
  // Answers of forms come in bytes.
  if (name === 'imageEdits') return BYTES;
  return FORMS[operationRow(name).view] ?? CHOICES;
}
