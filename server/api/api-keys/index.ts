import type { Route } from '../../http/route.ts'
import { createApiKey } from './create.ts'
import { deleteApiKey } from './delete.ts'
import { listApiKeys } from './list.ts'
import { rotateApiKey } from './rotate.ts'
import { updateApiKey } from './update.ts'

/** API keys, which belong to the instance, not to a developer. */
export const apiKeyRoutes: readonly Route[] = [listApiKeys, createApiKey, updateApiKey, deleteApiKey, rotateApiKey]
