import { ConfigError, loadConfig } from './config.ts'
import { configWarnings } from './config-warnings.ts'
import { providerReport } from './oauth/provider-report.ts'
import { cloudProviders, notifyingProviders } from './providers/index.ts'

// npm run providers: what to register at each cloud provider, and what is not yet set.
try {
  process.stdout.write(`${providerReport(cloudProviders, notifyingProviders, loadConfig(process.env))}\n`)
  for (const warning of configWarnings(process.env)) process.stderr.write(`${warning}\n`)
} catch (error) {
  if (!(error instanceof ConfigError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
