// The pieces of an answer of bytes: they hold no text.
import type { BinaryAnswer } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import type { Assembled, PieceForm } from './piece-form.ts';

/** A head, and bytes. */
export const BYTES: PieceForm = {
  increments: () => [],
  hasContent: (piece) => (piece as BinaryAnswer).kind.case === 'chunk',
  said: () => '',
  cutOff: () => [],
  closing: (last) => last,
  assembled: () => new AssembledBytes(),
  asksUsage: () => false,
};

/** Of the bytes their type and how many there were: a log keeps none. */
class AssembledBytes implements Assembled {
  #type = '';
  #bytes = 0;
  readonly held = 0;
  readonly left = 0;

  push(piece: object): void {
    const { kind } = piece as BinaryAnswer;
    if (kind.case === 'head') this.#type = kind.value.contentType;
    else if (kind.case === 'chunk') this.#bytes += kind.value.length;
  }

  json(): string {
    return JSON.stringify({ content_type: this.#type, bytes: this.#bytes });
  }
}
