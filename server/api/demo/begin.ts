import type { Context } from 'koa'
import type { Dependencies } from '../../dependencies.ts'
import { errors } from '../../errors.ts'
import type { Auth } from '../../http/guards.ts'
import { signAccessToken } from '../../http/tokens.ts'
import { developerOf } from '../auth/developer.ts'

/** Only the process that adds the demo data knows of it. */
const SEVERAL =
  'Several processes serve here (WEB_CONCURRENCY): add the demo data with npm run demo, and remove it with npm run demo -- --clear.'

/**
 * Begins to add or remove the demo data as the developer who asks for it, at the address that was asked.
 * @throws AppError conflict where several processes serve
 */
export async function beginDemo(what: 'add' | 'remove', auth: Auth, ctx: Context, deps: Dependencies): Promise<void> {
  if (deps.config.webConcurrency > 1) throw errors.conflict(SEVERAL)
  const { localAddress = '127.0.0.1', localPort } = ctx.req.socket
  const host = localAddress.replace(/^::ffff:(?=\d+\.)/, '')
  const service = `http://${host.includes(':') ? `[${host}]` : host}:${localPort}`
  const token = await signAccessToken(deps.keys, 'developer', developerOf(auth))
  await deps.demo.begin({ service, token, what })
}
