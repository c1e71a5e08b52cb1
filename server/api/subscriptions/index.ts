import { deleteProviderSubscription } from './delete.ts'
import { getProviderSubscription } from './get.ts'
import { listProviderSubscriptions } from './list.ts'
import { registerProviderSubscriptions } from './register.ts'
import { renewProviderSubscriptions } from './renew.ts'
import { updateProviderSubscription } from './update.ts'

export const subscriptionRoutes = [
  listProviderSubscriptions,
  registerProviderSubscriptions,
  renewProviderSubscriptions,
  getProviderSubscription,
  updateProviderSubscription,
  deleteProviderSubscription,
]
