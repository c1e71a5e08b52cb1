import { Type } from 'typebox'
import { route } from '../../http/route.ts'

/** The configuration of this instance that a client has to know (contract 11); nothing secret. */
export const getConfig = route(
  {
    method: 'GET',
    path: '/api/v1/config',
    operationId: 'getConfig',
    summary: 'How the instance is configured',
    tag: 'Dashboard',
    guard: 'developer',
    response: Type.Object({
      outgoing_webhooks_enabled: Type.Boolean(),
      event_feed_enabled: Type.Boolean(),
      upload_retention_days: Type.Integer({ description: 'Days for which upload bodies are kept' }),
    }),
    example: { outgoing_webhooks_enabled: false, event_feed_enabled: false, upload_retention_days: 30 },
  },
  async (_, { config }) => ({
    outgoing_webhooks_enabled: config.outgoingWebhooksEnabled,
    event_feed_enabled: config.eventFeedEnabled,
    upload_retention_days: config.uploadRetentionDays,
  }),
)
