// The API tests against several processes behind one port (npm run test:processes).
import type { Test } from 'tap'
import type { Config } from '../../server/config.ts'

/** How many processes answer the requests of tests; 1: the process of the test itself. */
export const PROCESSES = Number(process.env.TEST_PROCESSES ?? 1)

/** Skips a test with several processes, for a reason. */
export const ofOneProcess = (reason: string): { skip: string | false } => ({ skip: PROCESSES > 1 && reason })

/** The same within a test; returns whether it is skipped. */
export function isOfOneProcess(t: Test, reason: string): boolean {
  if (PROCESSES > 1) t.plan(0, reason)
  return PROCESSES > 1
}

/** Reasons for which a test is about the process that it runs in. */
export const COUNTS_STATEMENTS = 'it counts the statements of its own process'
export const LOOKS_INSIDE = 'it looks into its own process'
export const REPLACES = 'it replaces a part of its own process'

/** The variables that set these settings of a service; undefined if there are none for one of them. */
export function variablesOf(settings: Partial<Config>): Record<string, string> | undefined {
  const variables: Record<string, string> = {}
  for (const [name, value] of Object.entries(settings)) {
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return undefined
    variables[name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()] = String(value)
  }
  return variables
}
