import type { Route } from '../http/route.ts'
import { apiKeyRoutes } from './api-keys/index.ts'
import { applicationRoutes } from './applications/index.ts'
import { authRoutes } from './auth/index.ts'
import { consoleRoutes } from './console/index.ts'
import { dashboardRoutes } from './dashboard/index.ts'
import { demoRoutes } from './demo/index.ts'
import { developerRoutes } from './developers/index.ts'
import { eventRoutes } from './events/index.ts'
import { healthRoutes } from './health/index.ts'
import { healthScoreRoutes } from './health-scores/index.ts'
import { inboundRoutes } from './inbound/index.ts'
import { invitationRoutes } from './invitations/index.ts'
import { metaRoutes } from './meta/index.ts'
import { oauthRoutes } from './oauth/index.ts'
import { phoneRoutes } from './phones/index.ts'
import { priorityRoutes } from './priorities/index.ts'
import { providerSyncRoutes } from './provider-sync/index.ts'
import { sdkRoutes } from './sdk/index.ts'
import { settingsRoutes } from './settings/index.ts'
import { subscriptionRoutes } from './subscriptions/index.ts'
import { summaryRoutes } from './summaries/index.ts'
import { syncRoutes } from './sync/index.ts'
import { timeseriesRoutes } from './timeseries/index.ts'
import { userRoutes } from './users/index.ts'
import { webhookRoutes } from './webhooks/index.ts'

/** Every route of the API; a new resource is one folder and one line here. */
export const routes: readonly Route[] = [
  ...healthRoutes,
  ...authRoutes,
  ...consoleRoutes,
  ...developerRoutes,
  ...invitationRoutes,
  ...apiKeyRoutes,
  ...applicationRoutes,
  ...userRoutes,
  ...phoneRoutes,
  ...sdkRoutes,
  ...syncRoutes,
  ...providerSyncRoutes,
  // Before addresses of which a part is a secret.
  ...subscriptionRoutes,
  ...inboundRoutes,
  ...timeseriesRoutes,
  ...eventRoutes,
  ...healthScoreRoutes,
  ...summaryRoutes,
  ...priorityRoutes,
  ...oauthRoutes,
  ...webhookRoutes,
  ...settingsRoutes,
  ...dashboardRoutes,
  ...demoRoutes,
  ...metaRoutes,
]
