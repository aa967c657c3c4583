// A queue of jobs in which organisations share the workers' time equally, and the workspaces of one organisation its
// share. Whose turn it is depends on time used, not on jobs given: a job of 500 ms counts as 500 of 1 ms.

/** The tenant that an item belongs to. */
export interface Line {
  readonly organisationId: string;
  readonly workspaceId?: string | undefined;
}

/** Lines that are remembered although nothing of theirs waits, so that a tenant cannot drop its debt by pausing. */
const MOST_IDLE = 4096;

class Share<T> {
  /** Milliseconds used, never below what the one served last had used when it became active. */
  used = 0;
  waiting = 0;
  running = 0;
  readonly items: T[] = [];
  readonly parts = new Map<string, Share<T>>();
  /** The time used of the part that was served last. */
  now = 0;

  part(name: string): Share<T> {
    let part = this.parts.get(name);
    if (part === undefined) {
      if (this.parts.size >= MOST_IDLE) this.#forget();
      part = new Share<T>();
      this.parts.set(name, part);
    }
    return part;
  }

  /** The part with something that waits that has used least. */
  next(may: (part: Share<T>) => boolean): Share<T> | undefined {
    let next: Share<T> | undefined;
    for (const part of this.parts.values())
      if (part.waiting > 0 && may(part) && (next === undefined || part.used < next.used)) next = part;
    return next;
  }

  #forget(): void {
    for (const [name, part] of this.parts)
      if (part.waiting + part.running === 0 && part.used <= this.now) this.parts.delete(name);
  }
}

/** Items by organisation and workspace, first come first served within a workspace. */
export class FairQueue<T> {
  readonly #root = new Share<T>();
  readonly #most: number;

  /** @param most items of one workspace that may run at once; of one organisation, while there are others */
  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  get length(): number {
    return this.#root.waiting;
  }

  /** Items of the organisation that wait. */
  lengthOf({ organisationId }: Line): number {
    return this.#root.parts.get(organisationId)?.waiting ?? 0;
  }

  push(line: Line, item: T): void {
    const [organisation, workspace] = this.#sharesOf(line);
    if (organisation.waiting + organisation.running === 0)
      organisation.used = Math.max(organisation.used, this.#root.now);
    if (workspace.waiting + workspace.running === 0)
      workspace.used = Math.max(workspace.used, organisation.now);
    workspace.items.push(item);
    for (const share of [this.#root, organisation, workspace]) share.waiting++;
  }

  /** The next item; `done` is told when it has run. Undefined when nothing that waits may run. */
  shift(): T | undefined {
    const alone = this.#root.parts.size === 1;
    const organisation = this.#root.next(
      (one) =>
        (alone || one.running < this.#most) && one.next((part) => part.running < this.#most) !== undefined,
    );
    const workspace = organisation?.next((part) => part.running < this.#most);
    const item = workspace?.items.shift();
    if (organisation === undefined || workspace === undefined || item === undefined) return undefined;
    this.#root.now = organisation.used;
    organisation.now = workspace.used;
    for (const share of [this.#root, organisation, workspace]) {
      share.waiting--;
      share.running++;
    }
    return item;
  }

  /** An item that was taken has run, for so many milliseconds. */
  done(line: Line, ms: number): void {
    const shares = this.#sharesOf(line);
    this.#root.running--;
    for (const share of shares) {
      share.running--;
      share.used += Math.max(0.1, ms);
    }
  }

  /** Takes an item out, wherever it stands. */
  remove(line: Line, item: T): void {
    const [organisation, workspace] = this.#sharesOf(line);
    const at = workspace.items.indexOf(item);
    if (at === -1) return;
    workspace.items.splice(at, 1);
    for (const share of [this.#root, organisation, workspace]) share.waiting--;
  }

  /** Everything that waits, taken out. */
  drain(): T[] {
    const items: T[] = [];
    for (const organisation of this.#root.parts.values())
      for (const workspace of organisation.parts.values()) {
        items.push(...workspace.items.splice(0));
        organisation.waiting -= workspace.waiting;
        workspace.waiting = 0;
      }
    this.#root.waiting = 0;
    return items;
  }

  #sharesOf({ organisationId, workspaceId = '' }: Line): readonly [Share<T>, Share<T>] {
    const organisation = this.#root.part(organisationId);
    return [organisation, organisation.part(workspaceId)];
  }
}
