import type { Bootstrap } from './api/auth/bootstrap.ts'
import { consoleLink } from './api/console/codes.ts'
import type { Config } from './config.ts'

interface Welcome {
  config: Config
  port: number
  /** What this start created; generated secrets are shown once and never again, given ones not at all. */
  created: Bootstrap
  embedded: boolean
}

/** Prints where the service listens and, at the first start, the login, the API key and a line to paste. */
export function welcome({ config, port, created, embedded }: Welcome): void {
  const url = `http://${hostToType(config.host)}:${port}`
  const about = config.role === 'worker' ? 'a worker, without API' : `API reference: ${url}/docs`
  const lines = [`Pulsebase is ready at ${url}  (${about}${embedded ? `, data in ${config.dataDir}` : ''})`]
  const { admin, consoleCode, apiKey, apiKeyGenerated } = created
  if (admin || apiKey) lines.push('', 'First start. Shown once, keep it:')
  if (admin) {
    lines.push(`  login    ${admin.email}`, `  password ${admin.password ?? '(as given in ADMIN_PASSWORD)'}`)
  }
  if (apiKey) {
    const header = config.apiKeyHeaders[0]
    const key = apiKeyGenerated ? apiKey : '$BOOTSTRAP_API_KEY'
    lines.push(`  API key  ${apiKeyGenerated ? apiKey : '(as given in BOOTSTRAP_API_KEY)'}`, '', 'Try it:', '')
    lines.push(
      `  curl -s -X POST ${url}/api/v1/users -H "${header}: ${key}" -H 'Content-Type: application/json' -d '{"first_name":"Ada"}'`,
    )
  }
  if (consoleCode) {
    lines.push('', 'Console, signed in once and within 15 minutes:', '')
    lines.push(`  ${consoleLink(reachedAt(config, url), consoleCode)}`)
  }
  process.stdout.write(`${lines.join('\n')}\n\n`)
}

/** The address at which browsers reach the service: as set in API_BASE_URL, else at this machine. */
const reachedAt = ({ apiBaseUrl, port }: Config, url: string) =>
  apiBaseUrl === `http://localhost:${port}` ? url : apiBaseUrl

/** The name under which this machine reaches a server that listens on `host`. */
function hostToType(host: string): string {
  if (['127.0.0.1', '0.0.0.0', '::', '::1'].includes(host)) return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
