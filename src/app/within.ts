// Waiting with a bound.

/** Whether a promise resolves within the bound. */
export async function within(ms: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const soon = promise.then(
    () => true,
    () => false,
  );
  return Promise.race([soon, late]).finally(() => clearTimeout(timer));
}
