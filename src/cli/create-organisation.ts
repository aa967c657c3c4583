// `sluice organisations create`: a further organisation in a store that several share.
import { parseArgs } from 'node:util';
import { createChain } from '../access/audit/chain.ts';
import { createOrganisation } from '../access/new-organisation.ts';
import { openStores } from '../app/stores.ts';
import { readSettings } from '../settings.ts';
import type { Terminal } from './output.ts';

/** Prints its admin key, once. */
export async function createOrganisationCommand(
  args: readonly string[],
  { env, out, tell }: Terminal,
): Promise<void> {
  const text = { type: 'string', default: '' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      name: text,
      'owner-email': text,
      handle: text,
      'owner-first-name': text,
      'owner-last-name': text,
    },
  });
  const { name, 'owner-email': ownerEmail } = values;
  const handle = values.handle || name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  if (name.trim() === '' || !/^[^@\s]+@[^@\s]+$/.test(ownerEmail) || !/^[a-z0-9_-]{1,64}$/.test(handle))
    throw new Error('--name, --owner-email and a handle of letters, digits, _ and - are needed');
  const { documents, hasher, close } = await openStores(readSettings(env));
  try {
    const facts = { chain: createChain({ documents }), hasher, now: Date.now };
    const made = await createOrganisation(facts, {
      handle,
      name,
      ownerEmail,
      ownerFirstName: values['owner-first-name'],
      ownerLastName: values['owner-last-name'],
    });
    tell(`Organisation ${made.organisationId}, workspace ${made.workspaceId}.`);
    tell('Its admin API key, shown once:');
    out.line(made.adminKey);
  } finally {
    await close();
  }
}
