import { Type } from 'typebox'
import { Reply } from '../../http/reply.ts'
import { route } from '../../http/route.ts'

/** Metrics in Prometheus' text form; no health values, no user ids. */
export const metrics = route(
  {
    method: 'GET',
    path: '/metrics',
    operationId: 'getMetrics',
    summary: 'Metrics for Prometheus',
    tag: 'Health',
    guard: 'public',
    share: 'own',
    produces: 'text/plain',
    response: Type.String({ description: "Prometheus' text format 0.0.4" }),
  },
  async (_, { metrics, shownMetrics }) => new Reply(200, metrics.registry.contentType, await shownMetrics.text()),
)
