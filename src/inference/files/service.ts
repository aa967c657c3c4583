// Files: at the provider that a call selects, where that has them, else with the gateway.
import { create } from '@bufbuild/protobuf';
import { type BinaryAnswer, BinaryAnswerSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import {
  type DeletedFile,
  DeletedFileSchema,
  type DeleteFileRequest,
  type File,
  type FileList,
  FileListSchema,
  type GetFileContentRequest,
  type GetFileRequest,
  type ListFilesRequest,
  type UploadFileHead,
  UploadFileHeadSchema,
  type UploadFileRequest,
} from '../../../gen/gateway/inference/v2/files_pb.ts';
import type { Call } from '../../call/call.ts';
import { type fail, invalidField } from '../../lib/errors.ts';
import { bytesPassed } from '../../lib/young-garbage.ts';
import type { RequestOf } from '../../providers/operations.ts';
import { codec } from '../../rest/codec.ts';
import { FirstModel } from '../batches/first-model.ts';
import { type SettleDeps, settled } from '../batches/settle-output.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { runWhole } from '../pipeline/run.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { isOwnFile } from './collection.ts';
import { type FormMembers, formBody } from './form-body.ts';
import { FormReader, type UploadMessage } from './form-reader.ts';
import { fileMessage } from './message.ts';
import { contentOf, sendForm } from './native.ts';
import type { OwnFile, OwnFiles } from './own-files.ts';
import { ownerOf } from './owner.ts';
import { placeOf } from './place.ts';
import { fileNotFound } from './provider-copies.ts';
import { checkPurpose } from './purposes.ts';

/** Files of a page that does not say. */
const OWN_PAGE = 1000;

type Reader = FormReader<UploadFileHead>;

/** The methods of FilesService. */
export function filesService(pipeline: Pipeline, files: OwnFiles, settling: SettleDeps) {
  const ownFile = async (call: Call, id: string): Promise<OwnFile> => {
    const found = await files.get(ownerOf(call), id);
    if (found === undefined) throw fileNotFound(id);
    return found;
  };
  /** @throws GatewayError not_found where the gateway keeps files, and has none of this id */
  const atProvider = async (call: Call, id: string, name: 'getFile' | 'deleteFile' | 'fileContent') => {
    const bound = await placeOf(pipeline, call, name);
    if (bound === undefined) throw fileNotFound(id);
    return bound;
  };

  return {
    async uploadFile(messages: AsyncIterable<UploadFileRequest>, call: Call): Promise<File> {
      const form = await FormReader.open(
        messages as AsyncIterable<UploadMessage<UploadFileHead>>,
        'file',
        call.signal,
      );
      try {
        const bound = await placeOf(pipeline, call, 'uploadFile', true);
        const { purpose } = form.head;
        if (purpose !== undefined) checkPurpose(purpose, bound);
        return await (bound === undefined
          ? keep(files, call, form)
          : send(pipeline, call, bound, form, settling));
      } finally {
        form.leave();
      }
    },

    async listFiles(request: ListFilesRequest, call: Call): Promise<FileList> {
      if ((await placeOf(pipeline, call, 'listFiles', true)) !== undefined && !isOwnFile(request.after ?? ''))
        return runWhole(pipeline, call, 'listFiles', request, undefined);
      const { purpose, after, limit = OWN_PAGE, order = 'desc' } = request;
      const query = { purpose, after, limit: Math.min(limit, OWN_PAGE), order: order as 'asc' | 'desc' };
      const { files: found, more } = await files.list(ownerOf(call), query);
      return create(FileListSchema, {
        object: 'list',
        data: found.map(fileMessage),
        hasMore: more,
        ...endsOf(found),
      });
    },

    async getFile(request: GetFileRequest, call: Call): Promise<File> {
      if (isOwnFile(request.fileId)) return fileMessage(await ownFile(call, request.fileId));
      await atProvider(call, request.fileId, 'getFile');
      return runWhole(pipeline, call, 'getFile', request, undefined);
    },

    async deleteFile(request: DeleteFileRequest, call: Call): Promise<DeletedFile> {
      const { fileId: id } = request;
      if (!isOwnFile(id)) {
        await atProvider(call, id, 'deleteFile');
        return runWhole(pipeline, call, 'deleteFile', request, undefined);
      }
      await ownFile(call, id);
      await files.remove(ownerOf(call), id);
      return create(DeletedFileSchema, { id, object: 'file', deleted: true });
    },

    async getFileContent(request: GetFileContentRequest, call: Call): Promise<AsyncIterable<BinaryAnswer>> {
      const { fileId: id } = request;
      if (isOwnFile(id)) return ownContent(files, await ownFile(call, id));
      const bound = await atProvider(call, id, 'fileContent');
      return settled(settling, { call, bound, fileId: id }, () =>
        contentOf(pipeline, call, bound, 'fileContent', request),
      );
    },
  };
}

/** The bytes of an own file. */
export async function* ownContent(files: OwnFiles, file: OwnFile): AsyncGenerator<BinaryAnswer> {
  const { contentType, bytes, filename } = file.body;
  yield create(BinaryAnswerSchema, {
    kind: { case: 'head', value: { contentType, length: BigInt(bytes), filename } },
  });
  for await (const value of files.read(file)) {
    bytesPassed(value.length);
    yield create(BinaryAnswerSchema, { kind: { case: 'chunk', value: value as Uint8Array<ArrayBuffer> } });
  }
}

/** Ids of the first and of the last of a page. */
export function endsOf(page: readonly { readonly id: string }[]): { firstId?: string; lastId?: string } {
  const [first, last] = [page[0], page.at(-1)];
  return first === undefined || last === undefined ? {} : { firstId: first.id, lastId: last.id };
}

/** What stands after the file, judged. @throws GatewayError validation_failed naming the member */
function tailOf({ head, tail }: Reader, bound: BoundTarget | undefined): UploadFileHead | undefined {
  if (head.purpose !== undefined && tail?.purpose !== undefined)
    throw invalidField('purpose', 'must be given once');
  const purpose = head.purpose ?? tail?.purpose;
  if (purpose === undefined && !bound?.target.provider.filesWithoutPurpose)
    throw invalidField('purpose', 'is required: what the file is for, e.g. "batch"');
  if (tail?.purpose !== undefined) checkPurpose(tail.purpose, bound);
  return tail;
}

/** The file to the provider, while it comes. */
async function send(
  pipeline: Pipeline,
  call: Call,
  bound: BoundTarget,
  form: Reader,
  { notes }: SettleDeps,
): Promise<File> {
  const { filename, contentType } = await form.file();
  const json = (head: UploadFileHead | undefined): FormMembers =>
    head === undefined ? {} : (codec.encode(UploadFileHeadSchema, head) as FormMembers);
  let fault: ReturnType<typeof fail> | undefined;
  const first = new FirstModel();
  const body = formBody({
    before: json(form.head),
    member: 'file',
    filename: filename || 'file',
    contentType: contentType || 'application/octet-stream',
    bytes: first.hear(form.bytes()),
    after() {
      try {
        return json(tailOf(form, bound));
      } catch (thrown) {
        fault = thrown as ReturnType<typeof fail>;
        throw thrown;
      }
    },
  });
  const request: RequestOf<'uploadFile'> = form.head;
  const file = await sendForm(pipeline, call, bound, 'uploadFile', request, {
    form: body,
    fault: () => fault ?? form.error,
  });
  if ((form.head.purpose ?? form.tail?.purpose) === 'batch')
    await notes.input(call, bound, file.id, first.model);
  return file;
}

/** The file kept by the gateway. */
async function keep(files: OwnFiles, call: Call, form: Reader): Promise<File> {
  const owner = ownerOf(call);
  const { filename, contentType } = await form.file();
  const known = { filename: filename || 'file', contentType: contentType || 'application/octet-stream' };
  const upload = await files.begin(owner, { ...known, purpose: form.head.purpose ?? '' });
  try {
    for await (const piece of form.bytes()) await upload.write(piece);
    const tail = tailOf(form, undefined);
    const expires = tail?.expiresAfter ?? form.head.expiresAfter;
    const file = await upload.end({
      ...known,
      purpose: form.head.purpose ?? tail?.purpose ?? '',
      expiresAfterMs: expires && Number(expires.seconds) * 1000,
    });
    return fileMessage(file);
  } catch (thrown) {
    await upload.drop();
    throw thrown;
  }
}
