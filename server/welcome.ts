import type { Config } from './config.ts'

interface Welcome {
  config: Config
  port: number
  /** Secrets that were created by this very start; they are shown once and never again. */
  created: { admin?: { email: string; password?: string }; apiKey?: string }
  embedded: boolean
}

/** Prints where the service listens and, at the first start, the login, the API key and a line to paste. */
export function welcome({ config, port, created, embedded }: Welcome): void {
  const url = `http://${config.host === '0.0.0.0' || config.host === '::' ? 'localhost' : config.host}:${port}`
  const lines = [
    `Pulsebase is ready at ${url}  (API reference: ${url}/docs${embedded ? `, data in ${config.dataDir}` : ''})`,
  ]
  if (created.admin) {
    lines.push('', 'First start. Shown once, keep it:', `  login    ${created.admin.email}`)
    lines.push(`  password ${created.admin.password ?? '(as given in ADMIN_PASSWORD)'}`)
  }
  if (created.apiKey) {
    const header = headerName(config.apiKeyHeaders[0] ?? '')
    lines.push(`  API key  ${created.apiKey}`, '', 'Try it:', '')
    lines.push(
      `  curl -s -X POST ${url}/api/v1/users -H '${header}: ${created.apiKey}' -H 'Content-Type: application/json' -d '{"first_name":"Ada"}'`,
    )
  }
  process.stdout.write(`${lines.join('\n')}\n\n`)
}

/** `x-service-api-key` as people write it: X-Service-API-Key. */
const headerName = (name: string) =>
  name.replaceAll(/(^|-)([a-z])/g, (match) => match.toUpperCase()).replace('-Api-', '-API-')
