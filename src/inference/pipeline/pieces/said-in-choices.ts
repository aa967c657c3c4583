// The text that an answer or a piece of one says, for an estimate of its tokens.
import { textsIn } from '../../../ledger/tokens/texts.ts';

interface Piece {
  readonly choices?: readonly { readonly delta?: { readonly content?: unknown } }[];
}

/** All text of the answer's choices; the usual piece of a stream has one. */
export function saidIn(part: object): string {
  const { choices } = part as Piece;
  if (choices === undefined) return '';
  const content = choices.length === 1 ? choices[0]?.delta?.content : undefined;
  return typeof content === 'string' && content !== '' ? content : textsIn(choices);
}
