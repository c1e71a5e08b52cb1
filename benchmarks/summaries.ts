import { Client as HttpClient } from 'undici'
import { type Bench, figure, type Measure, median, timed, withClient, withDatabase, withService } from './bench.ts'
import { HISTORY_START, settle, storeHistory, YEAR_SECONDS } from './history.ts'
import { settleRecords, storeRecords } from './records.ts'
import { send } from './requests.ts'
import type { Service } from './service.ts'

/** What 90 days of each summary cost the machine: the service and the database together. */
export const ids = ['R9']

const DAYS = 90
const DAY_SECONDS = 86_400
const MOST_CPU_MS = 4
const SUMMARIES = ['activity', 'sleep', 'recovery'] as const

/** Ranges of 90 days in a year of dense data with its nights, each another one. */
export async function run(bench: Bench): Promise<Measure[]> {
  return withDatabase(bench, 'summaries', (url) =>
    withService(bench, { url, name: 'summaries' }, (service) =>
      withClient(url, async (db) => {
        const user = await storeHistory(service, db, 1, 0.9)
        await storeRecords(db, user, 1)
        await settle(db)
        await settleRecords(db)
        const measures: Measure[] = []
        for (const name of SUMMARIES) measures.push(await measure(bench, service, `${user.userId}/summaries/${name}`))
        return measures
      }),
    ),
  )
}

async function measure(bench: Bench, service: Service, path: string): Promise<Measure> {
  const requests = bench.quick ? 40 : 100
  const http = new HttpClient(service.origin, { pipelining: 1 })
  const read = async () => {
    for (let request = 0; request < requests; request += 1) {
      const day = request % (YEAR_SECONDS / DAY_SECONDS - DAYS - 1)
      const range = `start_date=${dateOf(day)}&end_date=${dateOf(day + DAYS - 1)}&limit=100`
      await send(http, { path: `/api/v1/users/${path}?${range}`, headers: service.headers }, 200)
    }
  }
  const sides: { server: number; database: number }[] = []
  try {
    // The first round is not counted: it compiles code and plans statements.
    for (let round = -1; round < bench.samples; round += 1) {
      const { cpu } = await timed(bench, service.pid, read)
      const ms = (seconds: number) => (seconds / requests) * 1000
      if (round >= 0) sides.push({ server: ms(cpu.server), database: ms(cpu.database) })
    }
  } finally {
    await http.close()
  }
  const side = (which: 'server' | 'database') => figure(median(sides.map((round) => round[which])))
  return {
    id: 'R9',
    what: `${path.split('/').at(-1)} of ${DAYS} days: CPU of a request`,
    values: sides.map(({ server, database }) => server + database),
    unit: 'ms',
    target: { at: 'most', value: MOST_CPU_MS },
    beside: [`service ${side('server')} ms, database ${side('database')} ms`],
  }
}

const dateOf = (day: number) => new Date((HISTORY_START + day * DAY_SECONDS) * 1000).toISOString().slice(0, 10)
