// Whether a server can do what the store needs: transactions, and writes that a majority confirms.
import type mongoose from 'mongoose';
import { fail } from '../../lib/errors.ts';

/** What a server says of itself; see MongoDB's `hello` command. */
export interface HelloAnswer {
  readonly setName?: unknown;
  readonly isWritablePrimary?: unknown;
  /** `isdbgrid`: a router of a sharded cluster. */
  readonly msg?: unknown;
  /** Present when the server is behind a load balancer. */
  readonly serviceId?: unknown;
}

/** Throws `store_unavailable` with a message that says what to do when it cannot. */
export function checkTopology(hello: HelloAnswer): void {
  const { setName, isWritablePrimary, msg, serviceId } = hello;
  if (msg === 'isdbgrid' || serviceId !== undefined) return;
  if (typeof setName !== 'string' || setName === '') {
    throw fail(
      'store_unavailable',
      'MongoDB is a standalone server, which has no transactions. Make it a replica set of one: start it with ' +
        '"mongod --replSet rs0" and run "rs.initiate()" once in mongosh; the data stays',
    );
  }
  if (isWritablePrimary !== true) {
    throw fail(
      'store_unavailable',
      `MongoDB's replica set "${setName}" takes no writes at the address in MONGODB_URI: name all its members ` +
        'there, without directConnection, or wait until it has a primary',
    );
  }
}

/** Asks the primary. */
export async function helloOf(connection: mongoose.Connection, maxTimeMS: number): Promise<HelloAnswer> {
  return connection.getClient().db('admin').command({ hello: 1, maxTimeMS }) as Promise<HelloAnswer>;
}
