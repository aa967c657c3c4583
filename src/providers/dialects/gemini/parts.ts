// The parts of one candidate, in the order in which they come, whole or over many events.
import type { JsonObject } from '@bufbuild/protobuf';
import { isObject, objectOf, textOf } from '../../json-object.ts';
import { PartialArguments } from './partial-arguments.ts';

/** What one part adds to the answer. */
export type Piece =
  | { readonly kind: 'text' | 'thought'; readonly text: string; readonly signature: string | undefined }
  | {
      readonly kind: 'call';
      /** Which of the candidate's calls. */
      readonly index: number;
      readonly id: string;
      readonly name: string;
      /** JSON text. */
      readonly args: string;
      readonly signature: string | undefined;
    }
  | {
      readonly kind: 'media';
      readonly mimeType: string;
      readonly data: string;
      readonly signature: string | undefined;
    }
  /** Gemini's own: executed code and what came of it, and parts that are not known yet. */
  | { readonly kind: 'own'; readonly part: JsonObject };

interface OpenCall {
  readonly name: string;
  readonly id: string | undefined;
  readonly signature: string | undefined;
  readonly args: PartialArguments;
}

/** Reads the parts of one candidate. */
export class PartReader {
  readonly #idOf: (index: number) => string;
  #calls = 0;
  #open: OpenCall | undefined;

  /** @param idOf makes the id of a call that Gemini gave none */
  constructor(idOf: (index: number) => string) {
    this.#idOf = idOf;
  }

  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  read(part: JsonObject): readonly Piece[] {
    const signature = textOf(part.thoughtSignature);
    if (typeof part.text === 'string') {
      if (part.text === '' && signature === undefined) return [];
      return [{ kind: part.thought === true ? 'thought' : 'text', text: part.text, signature }];
    }
    const call = objectOf(part.functionCall);
    if (call !== undefined) return this.#call(call, signature);
    const data = objectOf(part.inlineData);
    if (data !== undefined) {
      const media = {
        mimeType: textOf(data.mimeType) ?? 'application/octet-stream',
        data: textOf(data.data) ?? '',
        signature,
      };
      return part.thought === true ? [] : [{ kind: 'media', ...media }];
    }
    return Object.keys(part).length === 0 ? [] : [{ kind: 'own', part }];
  }

  /** Ends the candidate: a call with incomplete arguments is given as far as it was received. */
  end(): readonly Piece[] {
    return this.#close();
  }

  /** A call whose arguments come in pieces begins with its name, and ends with a part without `willContinue`. */
  #call(call: JsonObject, signature: string | undefined): readonly Piece[] {
    const name = textOf(call.name);
    const goesOn = call.willContinue === true;
    if (name !== undefined) {
      const before = this.#close();
      const id = textOf(call.id);
      if (!goesOn && call.partialArgs === undefined)
        return [...before, this.#piece({ name, id, signature }, isObject(call.args) ? call.args : {})];
      this.#open = { name, id, signature, args: new PartialArguments() };
      this.#open.args.push(call.partialArgs);
      return goesOn ? before : [...before, ...this.#close()];
    }
    this.#open?.args.push(call.partialArgs);
    return goesOn ? [] : this.#close();
  }

  #close(): readonly Piece[] {
    const open = this.#open;
    this.#open = undefined;
    return open === undefined ? [] : [this.#piece(open, open.args.value)];
  }

  #piece({ name, id, signature }: Pick<OpenCall, 'name' | 'id' | 'signature'>, args: JsonObject): Piece {
    const index = this.#calls++;
    return { kind: 'call', index, id: id ?? this.#idOf(index), name, args: JSON.stringify(args), signature };
  }
}
