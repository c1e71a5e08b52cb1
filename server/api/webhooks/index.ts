import type { Route } from '../../http/route.ts'
import { createEndpoint } from './create.ts'
import { deleteEndpoint } from './delete.ts'
import { getEndpoint } from './get.ts'
import { getSecret } from './get-secret.ts'
import { listEndpoints } from './list.ts'
import { listAttempts } from './list-attempts.ts'
import { listEventTypes } from './list-event-types.ts'
import { listEvents } from './list-events.ts'
import { listMessages } from './list-messages.ts'
import { recoverEndpoint } from './recover.ts'
import { resendMessage } from './resend.ts'
import { rotateSecret } from './rotate-secret.ts'
import { sendTest } from './send-test.ts'
import { updateEndpoint } from './update.ts'

/** Outgoing webhooks: endpoints, the results of their deliveries, and the feed of events. */
export const webhookRoutes: readonly Route[] = [
  listEventTypes,
  createEndpoint,
  listEndpoints,
  getEndpoint,
  updateEndpoint,
  deleteEndpoint,
  getSecret,
  rotateSecret,
  sendTest,
  listAttempts,
  listMessages,
  resendMessage,
  recoverEndpoint,
  listEvents,
]
