// The messages of a form of media: the head, one or several files in pieces, the tail.
import type { FormFile } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { fail, type GatewayError, invalidField } from '../../lib/errors.ts';
import { bytesPassed } from '../../lib/young-garbage.ts';
import type { UploadMessage } from '../files/form-reader.ts';
import { arriving } from '../pipeline/arriving.ts';

/** Where a file begins, or some of its bytes. */
export type FormPart = { readonly file: NamedFile } | { readonly bytes: Uint8Array };

/** A file of the form. */
export interface NamedFile {
  readonly name: string;
  readonly filename: string;
  readonly contentType: string;
}

/** Which files a form has. */
export interface FileRules {
  /** The member that a file is where it is not named, and that must be there. */
  readonly member: string;
  /** Members and how often each may be given. */
  readonly most: Readonly<Record<string, number>>;
  /** Whether a head says enough without a file; absent: a file must be there. */
  readonly without?: (head: object) => boolean;
}

/** Reads one form. A fault in the caller's messages is reported as the caller's, also where the provider's request reads them. */
export class MediaForm<Head> {
  /** Members before the first file. */
  head: Head;
  readonly #input: AsyncIterator<UploadMessage<Head>>;
  readonly #signal: AbortLike;
  readonly #rules: FileRules;
  /** Members after the first file, once all has been read; undefined: none. */
  tail: Head | undefined;
  /** What went wrong while it was read. */
  error: GatewayError | undefined;

  private constructor(
    input: AsyncIterator<UploadMessage<Head>>,
    head: Head,
    rules: FileRules,
    signal: AbortLike,
  ) {
    this.#input = input;
    this.head = head;
    this.#rules = rules;
    this.#signal = signal;
  }

  /** @throws GatewayError validation_failed when the head is not first */
  static async open<Head>(
    messages: AsyncIterable<UploadMessage<Head>>,
    rules: FileRules,
    signal: AbortLike,
  ): Promise<MediaForm<Head>> {
    const input = messages[Symbol.asyncIterator]();
    const first = await arriving(input.next(), signal);
    if (first.done || first.value.kind.case !== 'head') {
      void input.return?.();
      throw invalidField('head', 'must be the first message');
    }
    return new MediaForm(input, first.value.kind.value, rules, signal);
  }

  /** Its files, each one's beginning and then its bytes. When they end, `tail` is known. */
  async *parts(): AsyncGenerator<FormPart, undefined> {
    const seen = new Map<string, number>();
    try {
      for (;;) {
        const { done, value } = await arriving(this.#input.next(), this.#signal);
        if (done) break;
        yield* this.#partsOf(value.kind, seen);
      }
      const { member, without } = this.#rules;
      if (!seen.has(member) && !(seen.size === 0 && without?.(this.head as object)))
        throw invalidField(member, 'is required: a file');
    } catch (thrown) {
      this.error ??= thrown as GatewayError;
      throw thrown;
    }
  }

  /** Its tail is read, and counts as a part of its head. */
  joinTail(head: Head): void {
    this.head = head;
    this.tail = undefined;
  }

  /** The rest is not read. */
  leave(): void {
    this.#input.return?.()?.catch(() => {});
  }

  *#partsOf(kind: UploadMessage<Head>['kind'], seen: Map<string, number>): Generator<FormPart> {
    if (kind.case === undefined) throw fail('malformed_body', 'a message of the form is empty');
    if (kind.case === 'head') throw invalidField('head', 'must be given once');
    if (this.tail !== undefined) throw invalidField(kind.case, 'must come before the tail');
    if (kind.case === 'tail') this.tail = kind.value;
    else if (kind.case === 'file') yield { file: this.#begun(kind.value, seen) };
    else {
      if (seen.size === 0) yield { file: this.#begun({ name: '', filename: '', contentType: '' }, seen) };
      bytesPassed(kind.value.length);
      if (kind.value.length > 0) yield { bytes: kind.value };
    }
  }

  #begun(file: Omit<FormFile, '$typeName' | '$unknown'>, seen: Map<string, number>): NamedFile {
    const { member, most } = this.#rules;
    const name = file.name || member;
    const plain = name.endsWith('[]') ? name.slice(0, -2) : name;
    const bound = Object.hasOwn(most, plain) ? most[plain]! : 0;
    if (bound === 0) throw invalidField(plain, `is no file of this form: send it as "${member}"`);
    const count = (seen.get(plain) ?? 0) + 1;
    if (count > bound)
      throw invalidField(plain, bound === 1 ? 'must be one file' : `must be at most ${bound} files`);
    seen.set(plain, count);
    return {
      name,
      filename: file.filename || plain,
      contentType: file.contentType || 'application/octet-stream',
    };
  }
}
