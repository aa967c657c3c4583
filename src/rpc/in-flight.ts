// The bound on calls in flight of a process: shared fairly between workspaces, with a reserve for the control plane.

export interface InFlight {
  /** Whether every caller would be refused: asked before the body is read. */
  full(control: boolean): boolean;
  /**
   * Takes a place; answers how to give it back, once. Undefined: there is none for this caller.
   * @param control whether it is a call of the control plane @param workspace the id of the caller's, or of its organisation
   */
  enter(control: boolean, workspace: string): (() => void) | undefined;
  /** Whether one more call may begin that is not known yet. Its `leave` follows. */
  begin(): boolean;
  leave(): void;
  /** Calls that have begun and not ended. */
  readonly begun: number;
  /** Calls that were refused. */
  readonly refused: number;
}

/** Parts of the bound: what a workspace above its share leaves free, and what the control plane has in addition. */
const FREE_FOR_OTHERS = 0.25;
const CONTROL_RESERVE = 0.1;
const LEAST_RESERVE = 2;

/**
 * @param most model calls at once; undefined: any number
 * @param several whether there is more than one workspace. The calls of a single one may take all places. Of several, one
 *   that has its share or more (all places by the workspaces that have calls in flight, two at the least) is refused
 *   when a quarter of the places is left: that is for the others.
 */
export function createInFlight(most: number | undefined, several: () => boolean): InFlight {
  const places = most ?? Number.POSITIVE_INFINITY;
  const reserve = Math.max(LEAST_RESERVE, Math.ceil(places * CONTROL_RESERVE));
  const kept = Math.ceil(places * FREE_FOR_OTHERS);
  /** Model calls by workspace. */
  const byWorkspace = new Map<string, number>();
  let [begun, models, controls, refused] = [0, 0, 0, 0];

  const hasRoom = (workspace: string): boolean => {
    if (models >= places) return false;
    if (models < places - kept || !several()) return true;
    const own = byWorkspace.get(workspace) ?? 0;
    const active = byWorkspace.size + (own === 0 ? 1 : 0);
    return own < Math.max(1, Math.floor(places / Math.max(2, active)));
  };
  // Calls of the control plane may use free places of model calls too; model calls never use theirs.
  const hasControlRoom = (): boolean => models + controls < places + reserve;

  return {
    full: (control) => (control ? !hasControlRoom() : models >= places),
    enter(control, workspace) {
      if (!(control ? hasControlRoom() : hasRoom(workspace))) {
        refused++;
        return undefined;
      }
      if (control) controls++;
      else {
        models++;
        byWorkspace.set(workspace, (byWorkspace.get(workspace) ?? 0) + 1);
      }
      let over = false;
      return () => {
        if (over) return;
        over = true;
        if (control) {
          controls--;
          return;
        }
        models--;
        const left = (byWorkspace.get(workspace) ?? 1) - 1;
        if (left > 0) byWorkspace.set(workspace, left);
        else byWorkspace.delete(workspace);
      };
    },
    // Calls that are still being authenticated have no place yet, so more may begin than there are places.
    begin() {
      if (begun >= 2 * places + reserve) {
        refused++;
        return false;
      }
      begun++;
      return true;
    },
    leave() {
      begun--;
    },
    get begun() {
      return begun;
    },
    get refused() {
      return refused;
    },
  };
}
