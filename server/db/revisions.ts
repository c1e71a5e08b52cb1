import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from './database.ts'
import type { Revision } from './replica.ts'

const REVISIONS_SQL = `
  select u.id, u.revision, (select revision from ranking)
  from app_user u
  where u.id = any ($1)`

/**
 * Asks for the revisions of users. Whoever asks in the same turn, or while a question is under way, whose answer might be
 * older, shares the next one: the busier this process, the fewer its statements.
 */
export function openRevisions(primary: Database): { of(userId: string): Promise<Revision | undefined> } {
  type Answer = Promise<Map<string, Revision>>
  let next: { users: Set<string>; answer: Answer } | undefined
  let current: Promise<unknown> = Promise.resolve()

  async function ask(users: ReadonlySet<string>): Answer {
    next = undefined
    const rows = await primary.rows<[id: string, user: number, ranking: number]>(REVISIONS_SQL, [[...users]])
    return new Map(rows.map(([id, user, ranking]) => [id, { user, ranking }]))
  }

  return {
    async of(userId) {
      if (!next) {
        const users = new Set<string>()
        next = { users, answer: current.then(() => nextTurn()).then(() => ask(users)) }
        current = next.answer.catch(() => {})
      }
      next.users.add(userId)
      return (await next.answer).get(userId)
    },
  }
}
