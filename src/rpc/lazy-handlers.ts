// The handlers of gRPC, gRPC-Web and Connect, made for a service when it is first called over one of them: for all services
// they take some thousands of closures, and a gateway that is called over REST needs none.
import type { ConnectRouter } from '@connectrpc/connect';
import type { UniversalHandler } from '@connectrpc/connect/protocol';

/** Registers services on a router. */
export interface ServiceGroup {
  /** Full names of the services. */
  readonly names: readonly string[];
  readonly register: (router: ConnectRouter) => void;
}

/** Finds a handler by a request's path, `/package.Service/Method`. @param open makes a router */
export function lazyHandlers(
  groups: readonly ServiceGroup[],
  open: () => ConnectRouter,
): (path: string) => UniversalHandler | undefined {
  const left = new Map(groups.flatMap((group) => group.names.map((name) => [name, group])));
  const handlers = new Map<string, UniversalHandler>();
  return (path) => {
    const known = handlers.get(path);
    if (known !== undefined) return known;
    const group = left.get(path.slice(1, path.lastIndexOf('/')));
    if (group === undefined) return undefined;
    for (const name of group.names) left.delete(name);
    const router = open();
    group.register(router);
    for (const handler of router.handlers) handlers.set(handler.requestPath, handler);
    return handlers.get(path);
  };
}
