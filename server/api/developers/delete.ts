import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { DEVELOPER_COLUMNS, Developer, developerExample } from '../auth/developer.ts'
import { DeveloperPath } from './get.ts'

/** Deletes a developer, even the caller, but never the last one (contract 11). Their sessions end at once. */
export const deleteDeveloper = route(
  {
    method: 'DELETE',
    path: '/api/v1/developers/{developer_id}',
    operationId: 'deleteDeveloper',
    summary: 'Delete a developer',
    description:
      'Ends their sessions, invalidates their invitations and invitation codes, and deletes their applications. Signs out ' +
      'the phones they let in, by an application, a code or by hand. API keys stay: they belong to the instance.',
    tag: 'Developers',
    guard: 'developer',
    params: DeveloperPath,
    response: Developer,
    example: developerExample,
    errors: { 400: 'The last developer', 404: 'Unknown developer' },
  },
  async ({ params }, { db }) =>
    db.transaction(async (tx) => {
      // Locks all of them, in one order: the second of two deletions sees the result of the first.
      const developers = await tx.query<{ id: string }>('select id from developer order by id for update')
      if (!developers.some(({ id }) => id === params.developer_id)) {
        throw errors.notFound('Developer', params.developer_id)
      }
      if (developers.length === 1) throw errors.badRequest('The last developer cannot be deleted')
      return tx.one(`delete from developer where id = $1 returning ${DEVELOPER_COLUMNS}`, [params.developer_id])
    }),
)
