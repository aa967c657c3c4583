// The end of work that may take longer than is waited for.

/** Resolves when all of it is done, and after that many milliseconds at the latest. @throws what a piece of it throws */
export async function settledWithin(work: Iterable<Promise<unknown>>, ms: number): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  const waited = new Promise<void>((resolve) => {
    late = setTimeout(resolve, ms);
  });
  await Promise.race([Promise.all(work), waited]);
  clearTimeout(late);
}
