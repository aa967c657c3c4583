// What one class alone sees of an object that is not its own. It belongs to the object, and copies do not have it. A WeakMap
// would do the same for a hash of each object, and for the collector's work on every entry.

/** Hands back the object that it is given, for a class that adds a private member to it. */
export class PrivateMember {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: private members come onto the object that is returned
    return object;
  }
}
