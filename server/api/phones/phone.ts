import { Type } from 'typebox'
import { Instant, Nullable, Uuid } from '../../http/schema.ts'

/** A signed-in phone: one session, however often it was renewed. */
export const Phone = Type.Object({
  id: Uuid(),
  app_id: Type.String({
    description:
      'Who let it in: `app_…`, an application; `invite:…`, an invitation code of the developer with this id; `admin:…`, ' +
      'the developer with this id by hand',
  }),
  application: Nullable(Type.String({ description: 'Name of the application' })),
  renewed_at: Instant({ description: 'When it signed in, or last renewed its tokens' }),
  expires_at: Instant({ description: 'When it is signed out unless it renews them first' }),
})

/** A `Phone` for the API description. */
export const phoneExample = {
  id: '6b1d7c52-0f3e-4a9b-8c64-2d5e7f8a9b0c',
  app_id: 'app_7d0f3c5be1a94286b05c9e7f1d2a3b64',
  application: 'Pulse for iOS',
  renewed_at: '2026-02-24T10:00:00.120000Z',
  expires_at: '2026-03-26T10:00:00.120000Z',
}
