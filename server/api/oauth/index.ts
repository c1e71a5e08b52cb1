import type { Route } from '../../http/route.ts'
import { listProviders } from './list-providers.ts'
import { updateProvider } from './update-provider.ts'
import { updateProviders } from './update-providers.ts'

/** Providers and their settings. */
export const oauthRoutes: readonly Route[] = [listProviders, updateProvider, updateProviders]
