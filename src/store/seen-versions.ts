// Which version of each document was seen last: by collection, organisation and id, each text kept once.

export interface SeenVersions {
  /** 0 for a document that was never seen. */
  last(collection: string, organisationId: string, id: string): number;
  /** False, changing nothing, when this version or a newer one was seen. */
  see(collection: string, organisationId: string, id: string, version: number): boolean;
}

export function seenVersions(): SeenVersions {
  const collections = new Map<string, Map<string, Map<string, number>>>();
  const last: SeenVersions['last'] = (collection, organisationId, id) =>
    collections.get(collection)?.get(organisationId)?.get(id) ?? 0;
  return {
    last,
    see: (collection, organisationId, id, version) => {
      if (last(collection, organisationId, id) >= version) return false;
      const organisations = collections.get(collection) ?? new Map<string, Map<string, number>>();
      const ids = organisations.get(organisationId) ?? new Map<string, number>();
      collections.set(collection, organisations.set(organisationId, ids.set(id, version)));
      return true;
    },
  };
}
