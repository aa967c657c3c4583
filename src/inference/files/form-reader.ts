// The messages of an upload: the head, one file in pieces, the tail.
import type { FormFile } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { fail, type GatewayError, invalidField } from '../../lib/errors.ts';
import { bytesPassed } from '../../lib/young-garbage.ts';
import { arriving } from '../pipeline/arriving.ts';

/** A message of an upload. */
export interface UploadMessage<Head> {
  readonly kind:
    | { readonly case: 'head'; readonly value: Head }
    | { readonly case: 'tail'; readonly value: Head }
    | { readonly case: 'file'; readonly value: FormFile }
    | { readonly case: 'chunk'; readonly value: Uint8Array }
    | { readonly case: undefined; readonly value?: undefined };
}

/** Reads one upload. A fault in the caller's messages is reported as the caller's, also where the provider's request reads them. */
export class FormReader<Head> {
  readonly head: Head;
  readonly #input: AsyncIterator<UploadMessage<Head>>;
  readonly #signal: AbortLike;
  readonly #member: string;
  #next: UploadMessage<Head>['kind'] | undefined;
  /** Members after the file, once its bytes are read; undefined: none. */
  tail: Head | undefined;
  /** What went wrong while its bytes were read. */
  error: GatewayError | undefined;

  private constructor(
    input: AsyncIterator<UploadMessage<Head>>,
    head: Head,
    member: string,
    signal: AbortLike,
  ) {
    this.#input = input;
    this.head = head;
    this.#member = member;
    this.#signal = signal;
  }

  /** @param member of the form that the file is @throws GatewayError validation_failed when the head is not first */
  static async open<Head>(
    messages: AsyncIterable<UploadMessage<Head>>,
    member: string,
    signal: AbortLike,
  ): Promise<FormReader<Head>> {
    const input = messages[Symbol.asyncIterator]();
    const first = await arriving(input.next(), signal);
    if (first.done || first.value.kind.case !== 'head') {
      void input.return?.();
      throw invalidField('head', 'must be the first message');
    }
    return new FormReader(input, first.value.kind.value, member, signal);
  }

  /** Where the file begins. @throws GatewayError validation_failed when there is none */
  async file(): Promise<{ readonly filename: string; readonly contentType: string }> {
    const kind = await this.#read();
    if (kind === undefined || kind.case === 'tail') throw invalidField(this.#member, 'is required: a file');
    if (kind.case === 'chunk') {
      this.#next = kind;
      return { filename: '', contentType: '' };
    }
    const { name, filename, contentType } = kind.value as FormFile;
    if (name !== '' && name !== this.#member)
      throw invalidField(name, `is no file of this form: send it as "${this.#member}"`);
    return { filename, contentType };
  }

  /** The file's bytes. When they end, `tail` is known, and all has been read. @param most how many it may have */
  async *bytes(most = Number.POSITIVE_INFINITY): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    try {
      for (;;) {
        const kind = await this.#read();
        if (kind === undefined) return;
        if (kind.case === 'chunk') {
          if (this.tail !== undefined) throw invalidField('chunk', 'must come before the tail');
          bytesPassed(kind.value.length);
          bytes += kind.value.length;
          if (bytes > most)
            throw fail('body_too_large', `${this.#member}: must have at most ${most} bytes`, {
              param: this.#member,
            });
          if (kind.value.length > 0) yield kind.value;
        } else if (kind.case === 'tail') this.tail = kind.value;
        else if (kind.case === 'file') throw invalidField(this.#member, 'must be one file');
        else throw invalidField('head', 'must be given once');
      }
    } catch (thrown) {
      this.error ??= thrown as GatewayError;
      throw thrown;
    }
  }

  /** The rest is not read. */
  leave(): void {
    this.#input.return?.()?.catch(() => {});
  }

  async #read(): Promise<UploadMessage<Head>['kind'] | undefined> {
    const next = this.#next;
    this.#next = undefined;
    if (next !== undefined) return next;
    const { done, value } = await arriving(this.#input.next(), this.#signal);
    if (done) return undefined;
    if (value.kind.case === undefined) throw fail('malformed_body', 'a message of the upload is empty');
    return value.kind;
  }
}
