// The users of secret references: each kind of thing that has secret_mappings lists its own.

/** A kind of thing that may be configured with secrets. */
export interface SecretUsers {
  /**
   * One thing of the organisation, in words, that names the reference by its id or its slug; undefined: none does.
   * E.g. `the integration openai-prod`.
   */
  readonly firstUserOf: (
    organisationId: string,
    reference: { readonly id: string; readonly slug: string },
  ) => string | undefined | Promise<string | undefined>;
}

/** One user of a reference among all kinds; undefined: it may be deleted. */
export async function firstUser(
  kinds: readonly SecretUsers[],
  organisationId: string,
  reference: { readonly id: string; readonly slug: string },
): Promise<string | undefined> {
  for (const { firstUserOf } of kinds) {
    const user = await firstUserOf(organisationId, reference);
    if (user !== undefined) return user;
  }
  return undefined;
}
