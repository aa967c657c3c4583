// What the stages must know of the pieces of a streamed answer, whatever their form is.
import type { DescMessage, JsonObject } from '@bufbuild/protobuf';
import type { Passing } from '../../../call/bodies.ts';
import type { Increment } from '../../../checks/stream/stream-guard.ts';

/** The pieces of one form. */
export interface PieceForm {
  /** The texts of a piece, for guardrails. */
  increments(piece: object): readonly Increment[];
  /** `increments` for one stream, where what a piece says depends on those before it. */
  reader?(): (piece: object) => readonly Increment[];
  /** Whether the answer has begun with it: until then the caller can still be given another one. */
  hasContent(piece: object): boolean;
  /** The text of a piece or of a whole answer, for an estimate of its tokens. */
  said(part: object): string;
  /** The pieces that end an answer after its last piece, as one that a filter cut off. @param first of the answer's pieces */
  cutOff(last: object, chunk: DescMessage, first: object): readonly object[];
  /** A piece after the last one, with members of the gateway's own. */
  closing(last: object, members: JsonObject): object;
  /** Puts the pieces of one answer together, for the log. */
  assembled(): Assembled;
  /** Whether the request asks for a last piece with the usage, so that its stream is another one. */
  asksUsage(request: object): boolean;
}

/** A streamed answer as it grows. */
export interface Assembled extends Passing {
  push(piece: object): void;
  /** As JSON text, in the form of a whole answer. */
  json(): string;
}
