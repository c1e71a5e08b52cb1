// How long the console takes with a year of the demo, in numbers to read on a quiet machine; what is not a time is asserted.
// Run with: npm run test:long
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { createTestDatabase } from '../support/app.ts'
import { installedChromium, openWindow, sharedBrowser } from '../support/browser.ts'
import { engines } from '../support/servers.ts'
import { onDatabase, startService } from '../support/service.ts'

const [engine] = engines()
const chromium = await installedChromium()
const DEMO_MS = 300_000
const DAY_MS = 86_400_000
const MIB = 2 ** 20

const dateAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)

/** The median and the 95th percentile of times, in ms. */
function said(what: string, times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0)
  return `${what}: median ${at(0.5)} ms, p95 ${at(0.95)} ms of ${times.length}`
}

/** Milliseconds from what `start` does, a function body, until a chart that was not there before is painted. */
const painted = (page: Page, start: string, chart: string): Promise<number> =>
  page.evaluate(`new Promise((resolve) => {
    for (const old of document.querySelectorAll('[data-chart]')) old.dataset.old = 'yes'
    const from = performance.now()
    const look = () => {
      const canvas = document.querySelector('${chart}:not([data-old]) canvas')
      if (canvas && canvas.width > 300) requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - from)))
      else requestAnimationFrame(look)
    }
    ;(() => { ${start} })()
    requestAnimationFrame(look)
  })`)

/** The same for a change of a chart that stays; and the longest task meanwhile. */
const changed = (page: Page, start: string, chart: string): Promise<{ ms: number; longest: number }> =>
  page.evaluate(`new Promise((resolve) => {
    let longest = 0
    const observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) longest = Math.max(longest, duration)
    })
    observer.observe({ type: 'longtask' })
    const from = performance.now()
    const look = () => {
      if (!document.querySelector('${chart}')) return requestAnimationFrame(look)
      requestAnimationFrame(() => setTimeout(() => {
        const ms = performance.now() - from
        setTimeout(() => { observer.disconnect(); resolve({ ms, longest }) }, 50)
      }))
    }
    ;(() => { ${start} })()
    requestAnimationFrame(look)
  })`)

const key = (name: string, target: string) =>
  `(${target}).dispatchEvent(new KeyboardEvent('keydown', { key: '${name}', bubbles: true }))`

/** Another address within the page, which keeps its memory. */
const visit = (page: Page, path: string) =>
  page.evaluate(`history.pushState(null, '', '/console${path}'); dispatchEvent(new PopStateEvent('popstate'))`)

const DAY = '[data-chart="Day"][data-state="ready"]'

t.test('the pace of the console', { skip: !chromium && 'no Chromium is installed' }, async (t) => {
  if (!chromium || !engine) return
  const started = performance.now()
  const service = await startService(t, onDatabase(await createTestDatabase(t, engine)))
  const [link = ''] = /http\S+\/console#code=\S+/.exec(service.output()) ?? []
  const { origin } = new URL(link)
  t.comment(`started after ${Math.round(performance.now() - started)} ms`)
  const problems: string[] = []
  const browser = await sharedBrowser(chromium)
  const { page } = await openWindow(t, { browser, origin, problems }, {})
  await page.goto(link)
  const button = page.getByRole('button', { name: 'Show demo data' })
  await button.waitFor()
  const clicked = performance.now()
  await button.press('Enter')
  await page.locator(`${DAY} canvas`).waitFor()
  t.comment(`first chart ${Math.round(performance.now() - clicked)} ms after the click`)
  const ask = (method: string, path: string) =>
    page.evaluate(
      `fetch('/api/v1/${path}', { method: '${method}', headers: { 'X-Pulsebase-Console': '1' } }).then((answer) => answer.json())`,
    )
  const present = async () => ((await ask('GET', 'demo')) as { state: string }).state === 'present'
  t.ok(await waitUntil(present, DEMO_MS, 200), 'the demo is there')
  t.comment(`all of it ${((performance.now() - clicked) / 1000).toFixed(1)} s after the click`)

  await secondRun(t, ask, present)
  const people: string[] = (await service.request('GET', '/api/v1/users?limit=10')).body.items.map(
    ({ id }: { id: string }) => id,
  )
  await days(t, page, people)
  await explorer(t, page, people)
  t.strictSame(problems, [], 'no page reported an error')
})

/** What a second run of the demo adds: what has happened since, which is little. */
async function secondRun(
  t: Test,
  ask: (method: string, path: string) => Promise<unknown>,
  present: () => Promise<boolean>,
) {
  const counts = async () =>
    (await ask('GET', 'dashboard/stats')) as { data_points: { count: number }; event_records: { count: number } }
  const before = await counts()
  const again = performance.now()
  await ask('POST', 'demo')
  t.ok(await waitUntil(present, DEMO_MS, 200))
  const after = await counts()
  t.comment(`the demo again: ${((performance.now() - again) / 1000).toFixed(1)} s`)
  const added = after.data_points.count - before.data_points.count
  t.ok(added < 200, `${added} new samples of ${before.data_points.count}`)
  const events = after.event_records.count - before.event_records.count
  t.ok(events <= 1, `${events} new events of ${before.event_records.count}`)
}

/** Days from the list of people, and from day to day. */
async function days(t: Test, page: Page, people: readonly string[]): Promise<void> {
  const opened: number[] = []
  const stepped: number[] = []
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  let most = 0
  for (let round = 0; round < 10; round += 1) {
    for (const id of people) {
      await page.getByRole('link', { name: 'People' }).click()
      await page.locator(`a[href$="${id}"]`).waitFor()
      asked.length = 0
      opened.push(await painted(page, `document.querySelector('a[href$="${id}"]').click()`, DAY))
      // What is asked for everybody belongs to the list of people.
      most = Math.max(most, asked.filter((url) => url.includes(id)).length)
      stepped.push(await painted(page, key('[', 'document.body'), DAY))
    }
  }
  t.comment(said('a person, from the click to the day', opened))
  t.comment(said('the day before', stepped))
  t.ok(most <= 8, `${most} requests`)
}

/** A year of heart rates, fifty steps of zoom to single samples, and the memory after all. */
async function explorer(t: Test, page: Page, [id = '']: readonly string[]): Promise<void> {
  const years: number[] = []
  const steps: number[] = []
  let longest = 0
  const chart = '[data-chart="Explore"][data-state="ready"]'
  for (let round = 0; round < 10; round += 1) {
    await visit(page, `/people/${id}/sources`)
    await page.locator('.source').first().waitFor()
    years.push(await painted(page, key('x', 'document.body'), chart))
  }
  for (let round = 0; round < 50; round += 1) {
    const date = dateAgo(2 + round)
    await visit(page, `/people/${id}/explore?types=heart_rate&from=${date}T06:00&to=${date}T18:00`)
    await page.locator(`${chart}[data-resolution="1min"]`).waitFor()
    const found = await changed(page, key('+', `document.querySelector('${chart}')`), `${chart}[data-resolution="raw"]`)
    steps.push(found.ms)
    longest = Math.max(longest, found.longest)
  }
  t.comment(said('a year of heart rates', years))
  t.comment(`${said('a step to single samples', steps)}, longest task ${Math.round(longest)} ms`)
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  t.ok(
    usedSize <= 60 * MIB,
    `${(usedSize / MIB).toFixed(1)} MiB of memory after ${2 * 30} days and ${steps.length} steps`,
  )
}
