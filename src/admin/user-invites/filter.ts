// Which invitations a list asks for: `expired` is not stored, it follows from the time.
import type { ListUserInvitesRequest } from '../../../gen/gateway/admin/v2/user_invites_pb.ts';
import type { Condition } from '../../store/documents.ts';

/** The conditions of a list's filters at a time (Unix milliseconds). */
export function inviteFilter(request: ListUserInvitesRequest, now: number): readonly Condition[] {
  const filter: Condition[] = [];
  if (request.role !== undefined) filter.push({ field: 'role', op: 'eq', value: request.role });
  if (request.email !== undefined)
    filter.push({ field: 'email', op: 'eq', value: request.email.toLowerCase() });
  const { status } = request;
  if (status === undefined) return filter;
  if (status !== 'pending' && status !== 'expired')
    return [...filter, { field: 'state', op: 'eq', value: status }];
  return [
    ...filter,
    { field: 'state', op: 'eq', value: 'pending' },
    { field: 'expiresAt', op: status === 'pending' ? 'gt' : 'lte', value: now },
  ];
}
