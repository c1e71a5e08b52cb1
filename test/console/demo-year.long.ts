// The demo's year in the console: its values are those of the API, each day that lacks something says why, and the
// pictures of README, in .tap/console. Run with: npm run test:long
import { mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { createTestDatabase } from '../support/app.ts'
import { installedChromium, openWindow, sharedBrowser } from '../support/browser.ts'
import { tableOf } from '../support/console-journeys.ts'
import { engines } from '../support/servers.ts'
import { onDatabase, type Service, startService } from '../support/service.ts'

const PICTURES = fileURLToPath(new URL('../../.tap/console/', import.meta.url))
const [engine] = engines()
const chromium = await installedChromium()
const DAY_MS = 86_400_000
const DEMO_MS = 300_000
const number = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })

const dateAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)

t.test('a year of the demo', { skip: !chromium && 'no Chromium is installed' }, async (t) => {
  if (!chromium || !engine) return
  const service = await startService(t, onDatabase(await createTestDatabase(t, engine)))
  const [link = ''] = /http\S+\/console#code=\S+/.exec(service.output()) ?? []
  const { origin } = new URL(link)
  const problems: string[] = []
  const browser = await sharedBrowser(chromium)
  const { page } = await openWindow(t, { browser, origin, problems }, {})
  await page.goto(link)
  await page.getByRole('button', { name: 'Show demo data' }).press('Enter')
  const stateNow = () =>
    page.evaluate(`fetch('/api/v1/demo', { headers: { 'X-Pulsebase-Console': '1' } }).then((answer) => answer.json())`)
  const present = async () => ((await stateNow()) as { state: string }).state === 'present'
  t.ok(await waitUntil(present, DEMO_MS, 500), 'the demo is there')

  const { body: users } = await service.request('GET', '/api/v1/users?limit=10')
  t.equal(users.items.length, 3)
  for (const { id, first_name: name } of users.items) {
    const at = (path: string) => `${origin}/console/people/${id}${path}`
    await t.test(`${name}: the year has the values of the API`, (t) => equalsApi(t, { service, page, id, at }))
    await t.test(`${name}: what is missing is explained`, (t) => isExplained(t, { service, page, id, at }))
    if (name === 'Ada') await takePictures(page, at)
  }
  t.strictSame(problems, [], 'no page reported an error')
})

interface Looking {
  service: Service
  page: Page
  id: string
  at(path: string): string
}

async function equalsApi(t: Test, { service, page, id, at }: Looking): Promise<void> {
  await page.goto(at(`/year/${dateAgo(0)}`))
  const [head = [], ...rows] = await tableOf(page)
  const [steps, asleep] = [head.indexOf('Steps'), head.indexOf('Asleep')]
  const [first, last] = [rows[0]?.[0] ?? '', rows.at(-1)?.[0] ?? '']
  const range = `start_date=${first}&end_date=${last}&limit=400`
  const read = async (what: string) =>
    (await service.request('GET', `/api/v1/users/${id}/summaries/${what}?${range}`)).body.data
  const said = (value: number | null | undefined) => (value == null ? '–' : number.format(value))
  const stepsOf = new Map<string, number>()
  const asleepOf = new Map<string, number>()
  for (const day of await read('activity')) stepsOf.set(day.date, day.steps)
  for (const day of await read('sleep')) asleepOf.set(day.date, day.duration_minutes)
  const wrong = rows.filter(
    ([date = '', ...cells]) =>
      cells[steps - 1] !== said(stepsOf.get(date)) || cells[asleep - 1] !== said(asleepOf.get(date)),
  )
  t.ok(stepsOf.size > 300 && asleepOf.size > 250, `${stepsOf.size} days, ${asleepOf.size} nights`)
  t.strictSame(wrong, [])
}

/** Every day of the year without heart rates of its own. */
async function isExplained(t: Test, { service, page, id, at }: Looking): Promise<void> {
  const range = `start_date=${dateAgo(360)}&end_date=${dateAgo(1)}&days=local`
  const { body } = await service.request('GET', `/api/v1/users/${id}/coverage?${range}`)
  const has = new Set<string>()
  for (const { day, type, stored } of body.days) if (type === 'heart_rate' && stored > 0) has.add(day)
  const empty = Array.from({ length: 360 }, (_, days) => dateAgo(days + 1)).filter((date) => !has.has(date))
  const kinds = new Map<string, number>()
  const unexplained: string[] = []
  for (const date of empty) {
    await page.goto(at(`/data?day=${date}`))
    const finding = page.locator('[data-finding]').first()
    await finding.waitFor()
    const kind = (await finding.getAttribute('data-finding')) ?? ''
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    if (kind !== 'others') unexplained.push(`${date}: ${kind}: ${await finding.textContent()}`)
  }
  t.comment(`${empty.length} days without heart rates: ${JSON.stringify(Object.fromEntries(kinds))}`)
  // The phones of the demo send every day; a watch that is not worn leaves the other types.
  t.strictSame(unexplained, [])
}

async function takePictures(page: Page, at: Looking['at']): Promise<void> {
  await mkdir(PICTURES, { recursive: true })
  await page.setViewportSize({ width: 1280, height: 720 })
  await page.goto(at(`/day/${dateAgo(1)}`))
  await page.locator('[data-chart="Day"][data-state="ready"] canvas').waitFor()
  await page.locator('[data-chart="Year strip"]').waitFor()
  await page.screenshot({ path: `${PICTURES}readme-day.png` })
  await page.goto(at(`/year/${dateAgo(1)}`))
  await page.locator('[data-chart][data-state="ready"]').first().waitFor()
  await page.screenshot({ path: `${PICTURES}readme-year.png` })
}
