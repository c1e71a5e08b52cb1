import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import type { Auth } from '../../http/guards.ts'
import { Instant, Nullable, Uuid } from '../../http/schema.ts'

/** DeveloperRead of contract 11. */
export const Developer = Type.Object(
  {
    id: Uuid(),
    first_name: Nullable(Type.String()),
    last_name: Nullable(Type.String()),
    // No format: the first developer may be called admin@localhost.
    email: Type.String(),
    created_at: Instant(),
    updated_at: Instant(),
  },
  { title: 'Developer' },
)

/** The columns of `Developer`. */
export const DEVELOPER_COLUMNS = 'id, first_name, last_name, email, created_at, updated_at'

/** The error for an email address that already belongs to a developer (contract 11). */
export const EMAIL_TAKEN = 'A developer with this email already exists'

/** A `Developer` for the API description. */
export const developerExample = {
  id: 'd0b7f6a4-3c55-4a53-9f5e-0e8f3c1f7a11',
  first_name: 'Ada',
  last_name: null,
  email: 'ada@example.org',
  created_at: '2026-01-05T09:12:44.120000Z',
  updated_at: '2026-01-05T09:12:44.120000Z',
}

/** The developer that a route with the developer guard runs for. */
export function developerOf(auth: Auth): string {
  if (auth.kind !== 'developer') throw errors.notDeveloper()
  return auth.developerId
}
