import { createHash, randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import { Instant, Uuid } from '../../http/schema.ts'

/** ApplicationRead of contract 11: the credentials with which an app's backend signs its phones in. */
export const Application = Type.Object(
  {
    id: Uuid(),
    app_id: Type.String(),
    name: Type.String(),
    created_at: Instant(),
  },
  { title: 'Application' },
)

/** ApplicationReadWithSecret: the only answers that ever show the secret. */
export const ApplicationWithSecret = Type.Object(
  { ...Application.properties, app_secret: Type.String() },
  { title: 'ApplicationWithSecret' },
)

/** The columns of `Application`. */
export const APPLICATION_COLUMNS = 'id, app_id, name, created_at'

/** Path parameter of the routes of one application. */
export const ApplicationPath = Type.Object({ app_id: Type.String() })

/** A new app id in the format of contract 1.6: `app_` and 32 hexadecimal digits. */
export const newAppId = () => `app_${randomBytes(16).toString('hex')}`

/** A new secret in the format of contract 1.6: `secret_` and 64 hexadecimal digits. */
export const newAppSecret = () => `secret_${randomBytes(32).toString('hex')}`

/** SHA-256 of a secret, which is stored and compared. Secrets are 256 random bits, so no salt is needed. */
export const hashAppSecret = (secret: string) => createHash('sha256').update(secret).digest()

/** An `Application` for the API description. */
export const applicationExample = {
  id: '4f6e2a1c-9d3b-4c57-8a60-5b7c1d2e3f40',
  app_id: 'app_0123456789abcdef0123456789abcdef',
  name: 'Pulse for iOS',
  created_at: '2026-02-24T10:00:00Z',
}

/** An `ApplicationWithSecret` for the API description. */
export const applicationSecretExample = {
  ...applicationExample,
  app_secret: 'secret_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
}
