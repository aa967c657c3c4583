// A message that is parsed at its first access. An answer that is given back as
// the bytes it came in is never read; one that goes out over gRPC is.
import type { DescMessage, Message, MessageShape } from '@bufbuild/protobuf';

const unread: unique symbol = Symbol('unread');

interface Lazy {
  [unread]?: (() => Message) | undefined;
}

const prototypes = new WeakMap<DescMessage, object>();

/**
 * A message whose members are read by `read` at the first access to one of them. Copy it
 * with `clone` or by its members, not by a spread: before the first access it has none of its own.
 * @param known members whose access reads nothing
 */
export function lazyMessage<D extends DescMessage>(
  desc: D,
  read: () => MessageShape<D>,
  known?: Partial<MessageShape<D>>,
): MessageShape<D> {
  const prototype = prototypeOf(desc);
  // Members of a literal are its own, whatever accessors the prototype that comes later has.
  const message: Lazy & { $typeName?: string } =
    known === undefined ? Object.create(prototype) : Object.setPrototypeOf({ ...known }, prototype);
  message.$typeName = desc.typeName;
  message[unread] = read;
  return message as unknown as MessageShape<D>;
}

/** Reads a lazy message now; others stay as they are. @throws what its reading throws. */
export function readNow<M extends Message>(message: M): M {
  settle(message as Lazy & M);
  return message;
}

function prototypeOf(desc: DescMessage): object {
  let prototype = prototypes.get(desc);
  if (prototype === undefined) {
    prototype = {};
    for (const { localName } of desc.members) {
      Object.defineProperty(prototype, localName, {
        get(this: Lazy & Message) {
          settle(this);
          return Object.getOwnPropertyDescriptor(this, localName)?.value;
        },
        set(this: Lazy & Message, value: unknown) {
          settle(this);
          own(this, localName, value);
        },
      });
    }
    prototypes.set(desc, prototype);
  }
  return prototype;
}

function own(message: object, name: string, value: unknown): void {
  Object.defineProperty(message, name, { value, writable: true, enumerable: true, configurable: true });
}

/** The read message's prototype has no accessors: members are assigned, a sixth of the cost of defining each. */
function settle(message: Lazy & Message): void {
  const read = message[unread];
  if (read === undefined) return;
  message[unread] = undefined;
  const members = read();
  Object.setPrototypeOf(message, Object.getPrototypeOf(members));
  Object.assign(message, members);
}
