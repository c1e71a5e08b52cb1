// The explorer in a real browser: from a year to two hours, and what is seen is what the API says.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import type { TestApp } from '../support/app.ts'
import { visit } from '../support/browser.ts'
import { inChromium, tableOf } from '../support/console-journeys.ts'
import { DENSE, storeYear } from '../support/console-life.ts'

const HOUR = 3_600_000
const chart = (page: Page) => page.locator('[data-chart="Explore"][data-state="ready"]')

/** The window of the address, as instants of a person who is an hour east of UTC. */
function windowOf(page: Page): [from: number, until: number] {
  const params = new URL(page.url()).searchParams
  const at = (name: string) => Date.parse(`${(params.get(name) ?? '').padEnd(16, 'T00:00')}+01:00`)
  return [at('from'), at('to')]
}

/** The samples of the API within a window, as lines of the table. */
async function samples(app: TestApp, user: string, [from, until]: [number, number], query: string) {
  const range = `start_time=${from / 1000}&end_time=${until / 1000}&limit=1000`
  const path = `/api/v1/users/${user}/timeseries?${range}&${query}`
  const { body } = await app.request('GET', path)
  const local = (instant: string) => new Date(Date.parse(instant) + HOUR).toISOString().slice(0, 19).replace('T', ' ')
  return body.data.map((one: { timestamp: string; value: number }) => [local(one.timestamp), one.value])
}

/** Drags over a part of the chart, given as shares of its width. */
async function drag(page: Page, from: number, until: number): Promise<void> {
  const box = await page.locator('[data-chart="Explore"] .plot').first().boundingBox()
  if (!box) throw new Error('no chart')
  const y = box.y + box.height / 2
  await page.mouse.move(box.x + from * box.width, y)
  await page.mouse.down()
  await page.mouse.move(box.x + ((from + until) / 2) * box.width, y)
  await page.mouse.move(box.x + until * box.width, y)
  await page.mouse.up()
}

/** What the chart shows is what the API has for the window of the address. */
async function agrees(t: Test, page: Page, [app, user, resolution]: [TestApp, string, string]): Promise<void> {
  await page.locator(`[data-chart="Explore"][data-state="ready"][data-resolution="${resolution}"]`).waitFor()
  const window = windowOf(page)
  const rows = await samples(app, user, window, `types=heart_rate&resolution=${resolution}&filter_by_priority=true`)
  t.equal(Number(await chart(page).getAttribute('data-points')), rows.length, `points of ${resolution}`)
  const [, ...table] = await tableOf(page)
  const text = (value: number) => new Intl.NumberFormat('en', { maximumFractionDigits: 2 }).format(value)
  t.strictSame(
    table.map(([at, , , , value]) => [at, value]),
    rows.map(([at, value]: [string, number]) => [at, text(value)]),
    `values of ${resolution}`,
  )
  await page.getByText('As a table').click()
}

/** An answer that waits until it is its turn, and whether it is a good one. */
function turn() {
  let take: (isGood: boolean) => void = () => {}
  const taken = new Promise<boolean>((resolve) => {
    take = resolve
  })
  return { taken, take }
}

await inChromium('the explorer', async (_, { app, at, signedIn, journey, everywhere }) => {
  const ada = await storeYear(app, 'Ada')
  const year = `/people/${ada}/explore?types=heart_rate&from=2025-03-01&to=2026-03-01`

  await journey('a year, a week, two hours: each as finely as it can be, with the values of the API', async (t) => {
    const { page } = await signedIn(t)
    const opened = performance.now()
    await page.goto(at(year))
    await page.locator('[data-chart="Explore"] canvas').waitFor()
    t.comment(`${Math.round(performance.now() - opened)} ms from the address to a year of heart rates`)
    await chart(page).waitFor()
    t.equal(await chart(page).getAttribute('data-resolution'), '1hour')
    const [from, until] = windowOf(page)
    const query = `types=heart_rate&resolution=1hour&limit=1&start_time=${from / 1000}&end_time=${until / 1000}`
    const { body } = await app.request('GET', `/api/v1/users/${ada}/timeseries?${query}`)
    t.equal(Number(await chart(page).getAttribute('data-points')), body.pagination.total_count)
    await drag(page, 358.5 / 365, 364.9 / 365)
    await page.waitForURL(/from=2026-02-2/)
    const [start, end] = windowOf(page)
    t.ok(end - start > 5 * 24 * HOUR && end - start < 7.5 * 24 * HOUR, 'about a week')
    t.comment(await page.locator('.tag').textContent())
    await page.locator('[data-resolution="5min"]').waitFor()
    const dense = (Date.parse(`${DENSE}:00+01:00`) - start) / (end - start)
    const zooming = performance.now()
    await drag(page, dense, dense + (1.9 * HOUR) / (end - start))
    await page.locator('[data-resolution="raw"][data-state="ready"]').waitFor()
    t.comment(`${Math.round(performance.now() - zooming)} ms for a drag and a zoom to single samples`)
    await agrees(t, page, [app, ada, 'raw'])
    await page.locator('.plot').first().dblclick()
    await page.locator('[data-resolution="5min"]').waitFor()
    await page.goBack()
    await page.locator('[data-resolution="1hour"]').waitFor()
  })

  await journey('the keyboard comes closer, goes back and along', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, at(`/people/${ada}/explore?types=heart_rate&from=2026-02-26&to=2026-02-27`))
    await agrees(t, page, [app, ada, '1min'])
    await chart(page).focus()
    await page.keyboard.press('+')
    await page.waitForURL(/from=2026-02-26T06(:|%3A)00&to=2026-02-26T18/)
    await page.keyboard.press('Shift+ArrowRight')
    await page.waitForURL(/from=2026-02-26T12(:|%3A)00&to=2026-02-27T00/)
    await page.keyboard.press('-')
    await page.waitForURL(/from=2026-02-26T06(:|%3A)00&to=2026-02-27T06/)
    await chart(page).focus()
    await page.keyboard.press('ArrowRight')
    t.match(await chart(page).getAttribute('aria-valuetext'), /^26 Feb 06:0\d: Heart rate \d+$/)
    await page.keyboard.down('Control')
    await page.locator('.plot').first().hover()
    await page.mouse.wheel(0, -600)
    await page.keyboard.up('Control')
    await page.locator('[data-resolution="raw"][data-state="ready"]').waitFor()
    const [from, until] = windowOf(page)
    t.equal(until - from, 6 * HOUR)
    await visit(page, at(`/people/${ada}/explore?from=2026-02-22&to=2026-02-25`))
    await agrees(t, page, [app, ada, '5min'])
    await visit(page, at(`/people/${ada}/explore?from=2026-02-15&to=2026-03-01`))
    await page.locator('[data-resolution="15min"][data-state="ready"]').waitFor()
  })

  await journey('the coarse picture stays until the finer one is there, or cannot be had', async (t) => {
    const { page } = await signedIn(t, { expected: /status of 503/ })
    await visit(page, at(year))
    await chart(page).waitFor()
    const turns = [turn(), turn()]
    const waiting = turns.values()
    await page.route(/resolution=1min/, async (route) => {
      const isGood = await waiting.next().value?.taken
      await (isGood ? route.continue() : route.fulfill({ status: 503, json: { detail: 'Too much at once.' } }))
    })
    await visit(page, at(`/people/${ada}/explore?from=2026-02-26&to=2026-02-27`))
    const coarse = page.locator('[data-chart="Explore"][data-state="loading"][data-resolution="1hour"]')
    await coarse.waitFor()
    t.equal(await coarse.getAttribute('data-points'), '24')
    turns[0]?.take(false)
    await page.getByText('Too much at once.').waitFor()
    await coarse.waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    turns[1]?.take(true)
    await page.locator('[data-resolution="1min"][data-state="ready"]').waitFor()
  })

  await journey('several series, each source apart, as a file and as a call', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, at(`/people/${ada}/explore?from=2026-02-23&to=2026-02-24`))
    await chart(page).waitFor()
    await page.locator('.choices summary').click()
    await page.getByLabel(/Steps/).check()
    await page.waitForURL(/types=heart_rate(,|%2C)steps/)
    await page.getByRole('button', { name: 'Every source apart' }).click()
    await page.waitForURL(/sources=all/)
    await page.getByText('Steps, Apple Watch Ultra 2').waitFor()
    await page.getByText('Steps, iPhone 16 Pro').waitFor()
    await chart(page).waitFor()
    await page.getByText('As a table').click()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download CSV' }).click()
    const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\r\n')
    t.equal(lines.length - 1, Number(await chart(page).getAttribute('data-points')))
    const steps = await samples(app, ada, windowOf(page), 'types=steps&resolution=1min')
    const own = lines.filter((line) => line.includes(',steps,')).map((line) => line.split(','))
    t.strictSame(
      own.map(([time, , , , value]) => `${time} ${value}`).sort(),
      steps.map(([time, value]: [string, number]) => `${time} ${value}`).sort(),
    )
    await page.getByText('As a call of the API').click()
    const call = (await page.locator('pre').textContent()) ?? ''
    const address = new URL(/'([^']+)'/.exec(call)?.[1] ?? '')
    const answer = await app.request('GET', address.pathname + address.search, { headers: { Accept: 'text/csv' } })
    t.equal(answer.status, 200)
    await page.getByRole('button', { name: 'JavaScript' }).click()
    const program = (await page.locator('pre').textContent()) ?? ''
    const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      env: { KEY: app.apiKey },
    })
    t.equal((await run).stdout.trim(), String(answer.body).trim(), 'the same rows')
    // What cannot be is passed over, in the address as well.
    await visit(page, at(`/people/${ada}/explore?types=steps,none&from=0001-01-01&to=9999-01-01`))
    await chart(page).waitFor()
    t.equal(await page.getByRole('alert').count(), 0)
  })

  await journey('is readable for everybody, at every width and in both themes', async (t) => {
    const explore = async (page: Page) => {
      await visit(page, at(`/people/${ada}/explore?types=heart_rate,steps&sources=all&from=2026-02-26&to=2026-02-27`))
      await chart(page).waitFor()
      await page.locator('.choices summary').click()
      await page.getByText('As a call of the API').click()
    }
    await everywhere(t, { explore })
  })
})
