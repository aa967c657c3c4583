// Limits of forms that only their bytes show: a part above 64 MiB, a name with control characters. Refused with nothing kept,
// with the gateway and at a provider.
import test from 'ava';
import { type FilesProvider, startFilesProvider } from '../support/fake-files.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const MOST = 64 * 1024 * 1024;

let gateway: TestGateway;
let provider: FilesProvider;
test.before(async () => {
  [gateway, provider] = await Promise.all([
    startGateway({ GATEWAY_DRAIN_SECONDS: '1' }),
    startFilesProvider(),
  ]);
});
test.after.always(async () => {
  await provider?.close();
  await gateway?.close();
});

const native = (): Record<string, string> => ({
  'x-gateway-config': JSON.stringify({ provider: 'openai', api_key: 'sk', custom_host: provider.origin }),
});

interface Answer {
  readonly status: number;
  readonly json: { readonly id?: string; readonly error?: { readonly param?: string } };
}

async function post(path: string, body: string | FormData, headers: Record<string, string>): Promise<Answer> {
  const isJson = typeof body === 'string';
  const answer = await fetch(`${gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      ...(isJson && { 'content-type': 'application/json' }),
      ...headers,
    },
    body,
  });
  return { status: answer.status, json: (await answer.json()) as Answer['json'] };
}

function formOf(member: string, bytes: number, texts: Readonly<Record<string, string>> = {}): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(texts)) form.append(name, value);
  form.append(member, new Blob([new Uint8Array(bytes)]), 'part');
  return form;
}

const UPLOAD = JSON.stringify({ filename: 'a', purpose: 'batch', bytes: MOST, mime_type: 'text/plain' });

for (const [place, headersOf] of [
  ['with the gateway', () => ({})],
  ['at a provider', native],
] as const) {
  test.serial(`a part above 64 MiB is refused, one of 64 MiB is not: ${place}`, async (t) => {
    const headers: Record<string, string> = headersOf();
    const own = await post('/uploads', UPLOAD, {});
    const id = place === 'at a provider' ? 'upload_1' : own.json.id;
    const kept = provider.files.size;
    const over = await post(`/uploads/${id}/parts`, formOf('data', MOST + 1), headers);
    t.like(over, { status: 413, json: { error: { param: 'data' } } });
    t.is(provider.files.size, kept);
    t.is((await post(`/uploads/${id}/parts`, formOf('data', MOST), headers)).status, 200);
  });

  test(`a name with control characters is refused: ${place}`, async (t) => {
    const headers: Record<string, string> = headersOf();
    for (const sign of ['\u0000', '\u0007', '\u007f']) {
      const body = `--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="odd${sign}name"\r\n\r\nx\r\n--b--\r\n`;
      const answer = await post('/files', body, {
        ...headers,
        'content-type': 'multipart/form-data; boundary=b',
      });
      t.like(answer, { status: 400, json: { error: { param: 'file.filename' } } });
    }
    t.false([...provider.files.values()].some(({ filename }) => filename.startsWith('odd')));
  });
}
