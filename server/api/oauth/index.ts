import type { Route } from '../../http/route.ts'
import { authorizeProvider } from './authorize.ts'
import { completeConnection } from './callback.ts'
import { createLinkToken } from './create-link-token.ts'
import { connectionFailed } from './error.ts'
import { listProviders } from './list-providers.ts'
import { connectionSucceeded } from './success.ts'
import { updateProvider } from './update-provider.ts'
import { updateProviders } from './update-providers.ts'

/** Providers, their settings, and how people connect them. */
export const oauthRoutes: readonly Route[] = [
  listProviders,
  updateProvider,
  updateProviders,
  createLinkToken,
  authorizeProvider,
  completeConnection,
  connectionSucceeded,
  connectionFailed,
]
