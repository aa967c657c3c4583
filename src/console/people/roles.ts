// Roles, as the contract has them.
import type { Options } from '../fields.tsx';

export const ORGANISATION_ROLES: Options = [
  ['member', 'Member'],
  ['admin', 'Admin'],
];

export const WORKSPACE_ROLES: Options = [
  ['member', 'Member'],
  ['manager', 'Manager'],
  ['admin', 'Admin'],
];
