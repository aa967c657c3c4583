// The token that an external account has of its own provider of identities.
import { readFile } from 'node:fs/promises';
import { Aborter } from '../../lib/abort.ts';
import { signed } from '../../lib/aws-signature.ts';
import { fail } from '../../lib/errors.ts';
import { parsedObject, textOf } from '../../providers/json-object.ts';
import { awsCredentials, endpointOf } from '../../secrets/aws/credentials.ts';
import { fileSecrets } from '../../secrets/file.ts';
import { exchange } from './exchange.ts';
import type { ExternalAccount, Format, Source } from './google-external.ts';
import { accountError } from './google-token.ts';
import type { CredentialDeps } from './identity.ts';

/** Longest token, in characters. */
const MOST = 65_536;
/** How long AWS may be waited for. */
const DEADLINE_MS = 10_000;

/** @throws GatewayError `invalid_header` where the source is none, `upstream_unreachable` and its like */
export async function subjectOf(
  deps: CredentialDeps,
  { source, audience }: ExternalAccount,
  trusted: boolean,
): Promise<string> {
  switch (source.kind) {
    case 'file':
      return tokenOf(await fileText(deps, source.path, trusted), source.format);
    case 'url':
      return tokenOf(await urlText(deps, source), source.format);
    case 'aws':
      return awsIdentity(deps, source.verification, audience);
  }
}

/** The operator's own JSON names its file; any other one may name those of the listed folders. */
async function fileText({ fileAllow }: CredentialDeps, path: string, trusted: boolean): Promise<string> {
  const reading = trusted
    ? readFile(path, 'utf8')
    : fileSecrets(fileAllow).read({ auth: {}, path }, new Aborter());
  return reading.catch(() => {
    throw accountError(
      'credential_source.file must be a file that can be read, in a folder of GATEWAY_SECRET_FILE_ALLOW',
    );
  });
}

async function urlText({ dialer }: CredentialDeps, { url, headers }: Source & { kind: 'url' }) {
  const { status, text } = await exchange(dialer, url, { method: 'GET', headers });
  if (status === 200) return text;
  throw fail('upstream_status', `${url.host} gave the external account no subject token`, {
    status: status >= 400 && status < 500 ? 401 : 502,
    code: 'token_refused',
  });
}

function tokenOf(text: string, { field }: Format): string {
  const token = (field === undefined ? text : (textOf(parsedObject(text)?.[field]) ?? '')).trim();
  if (token !== '' && token.length <= MOST) return token;
  throw accountError('credential_source must lead to a token, in the form that its format names');
}

/** A signed question of who one is, for Google to ask in one's place (AIP-4117, "AWS"). */
async function awsIdentity(deps: CredentialDeps, template: string, audience: string): Promise<string> {
  const { environment, now } = deps;
  const region = environment.AWS_REGION || environment.AWS_DEFAULT_REGION || '';
  // Checks the region too: it becomes part of a host's name.
  endpointOf(environment, 'sts', region);
  const aborter = new Aborter();
  const late = fail('upstream_timeout', `AWS gave no keys within ${DEADLINE_MS / 1000} seconds`);
  const timer = setTimeout(() => aborter.abort(late), DEADLINE_MS);
  try {
    const credentials = await awsCredentials(deps)({}, region, aborter);
    const url = new URL(template.replace('{region}', region));
    const pairs = await signed({
      method: 'POST',
      url,
      headers: { 'x-goog-cloud-target-resource': audience },
      body: '',
      region,
      service: 'sts',
      credentials,
      at: now(),
    });
    const headers = pairs.flatMap((name, i) =>
      i % 2 === 0 ? [{ key: name === 'authorization' ? 'Authorization' : name, value: pairs[i + 1]! }] : [],
    );
    const question = {
      url: url.href,
      method: 'POST',
      headers: [...headers, { key: 'host', value: url.host }],
    };
    return encodeURIComponent(JSON.stringify(question));
  } catch (error) {
    throw aborter.aborted ? late : error;
  } finally {
    clearTimeout(timer);
  }
}
