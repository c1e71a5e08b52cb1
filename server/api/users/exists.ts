import type { Queryable } from '../../db/database.ts'
import { errors } from '../../errors.ts'

/** Accepts only the id of a stored user. @throws AppError not_found */
export async function requireUser(db: Queryable, userId: string): Promise<void> {
  const [row] = await db.query('select 1 from app_user where id = $1', [userId])
  if (!row) throw errors.notFound('User', userId)
}
