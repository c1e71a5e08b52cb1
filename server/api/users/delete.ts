import { HELD } from '../../db/changes.ts'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { UserPath } from '../../http/schema.ts'
import { allowMinutes, allowWaiting } from '../../limits.ts'
import { lockGrants, removeUnused } from '../../oauth/disconnect.ts'
import { deleteEvents, lockForDeletion, lockUser } from '../../store/lock.ts'
import { foldUsers, USER_COLUMNS, User, type UserConnectionRow, userExample, usersWithConnections } from './user.ts'

/** Deletes a user with everything stored about them, and returns the deleted row (contract 3.6). */
export const deleteUser = route(
  {
    method: 'DELETE',
    path: '/api/v1/users/{user_id}',
    operationId: 'deleteUser',
    summary: 'Delete a user and all its data',
    tag: 'Users',
    guard: 'developer',
    share: 'long',
    params: UserPath,
    response: User,
    example: userExample,
  },
  async ({ params }, { db }) =>
    db.transaction(async (tx) => {
      // Years of samples, and waiting for an import, take longer than a read may.
      await allowMinutes(tx)
      // An import holds this lock: this waits for it, and the next one finds no user.
      await lockUser(tx, params.user_id)
      const grants = await lockGrants(tx, params.user_id, null)
      const sources = await lockForDeletion(tx, params.user_id, null)
      if (!sources) throw errors.notFound('User', params.user_id)
      // Nobody can connect this user any more; a consent that was stored since has a grant that is not locked.
      const [late] = await tx.query(
        'select from connection where user_id = $1 and grant_id is not null and grant_id <> all ($2::uuid[])',
        [...[params.user_id, grants]],
      )
      if (late) throw errors.overloaded(HELD, 5)
      await allowWaiting(tx)
      if (sources.length > 0) await tx.query('select delete_sources($1)', [sources])
      // In the order of locks (store/lock.ts), and slow deletions before rows that others wait for.
      for (const table of ['data_source', 'upload', 'upload_body', 'sync_run'])
        await tx.query(`delete from ${table} where user_id = $1`, [params.user_id])
      await tx.query(
        `delete from graphile_worker._private_jobs
         where payload ->> 'user_id' = $1 and locked_at is null`,
        [params.user_id],
      )
      await deleteEvents(tx, params.user_id, null)
      const rows = await tx.query<UserConnectionRow>(
        `with deleted as (
           delete from app_user where id = $1 returning ${USER_COLUMNS}
         )
         ${usersWithConnections('deleted')}`,
        [params.user_id],
      )
      // Of runs of others, who shared an account; those that somebody holds are left to `prune`.
      await tx.query(
        `update sync_run r set primary_user_id = null
         from (select user_id, run_key from sync_run where primary_user_id = $1 for update skip locked) one
         where r.user_id = one.user_id and r.run_key = one.run_key`,
        [params.user_id],
      )
      await removeUnused(tx, grants, true)
      return foldUsers(rows)[0]
    }),
)
