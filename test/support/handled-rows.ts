import type { Transaction } from '../../server/db/database.ts'

interface Plan {
  'Actual Rows': number
  'Actual Loops': number
  Plans?: Plan[]
  [detail: string]: unknown
}

/** Rows that come out of a node of a plan and of those below it, and that these filter out, in all loops. */
function rowsOf(plan: Plan): number {
  const removed = Object.keys(plan).filter((key) => key.startsWith('Rows Removed'))
  const one = removed.reduce((sum, key) => sum + Number(plan[key]), plan['Actual Rows'])
  return (plan.Plans ?? []).reduce((sum, below) => sum + rowsOf(below), one * plan['Actual Loops'])
}

/**
 * Runs `work` and returns how many rows its statements handle, with those inside of functions: what they cost on any machine.
 * Statements of less than a millisecond, which handle few, do not count.
 */
export async function countHandled(tx: Transaction, work: () => Promise<unknown>): Promise<number> {
  let rows = 0
  const hear = ({ message }: { message?: string | undefined }) => {
    const [, text] = /^duration: [\d.]+ ms {2}plan:\s*(\{.*\})\s*$/s.exec(message ?? '') ?? []
    if (text) rows += rowsOf(JSON.parse(text).Plan)
  }
  await tx.query(`load 'auto_explain'`)
  const settings = {
    client_min_messages: 'log',
    'auto_explain.log_format': 'json',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_min_duration': '1',
  }
  for (const [name, value] of Object.entries(settings)) await tx.query('select set_config($1, $2, true)', [name, value])
  tx.client.on('notice', hear)
  try {
    await work()
  } finally {
    tx.client.off('notice', hear)
  }
  return rows
}
