// The console in a real browser, as a person uses it. Waits are for what the page shows, never for time.
import type { Page } from 'playwright-core'
import { newConsoleCode } from '../../server/api/console/codes.ts'
import { picture, visit } from '../support/browser.ts'
import { inChromium } from '../support/console-journeys.ts'
import { FLIGHT, ORDINARY, SHORT, storeLife } from '../support/console-life.ts'
import { HOSTILE, inspect, themesAt } from '../support/console-window.ts'

await inChromium('the console in Chromium', async (_, { app, at, open, signedIn, journey }) => {
  const ada = await storeLife(app, 'Ada')
  await app.request('POST', '/api/v1/users', { body: { first_name: HOSTILE, last_name: HOSTILE } })
  const link = async () => at(`#code=${await newConsoleCode(app.db, app.developer.id)}`)

  await journey('a link signs in without typing, once, and leaves no trace in the address', async (t) => {
    const address = await link()
    const { page } = await open(t)
    await page.goto(address)
    await page.getByRole('heading', { name: 'People' }).waitFor()
    t.equal(page.url(), at('/people'))
    t.equal(await page.evaluate('document.cookie'), '', 'scripts see no cookie')
    t.equal(await page.evaluate('localStorage.length + sessionStorage.length'), 0)
    const other = await open(t, { expected: /status of 401/, isOwn: true })
    await other.page.goto(address)
    await other.page.getByText('Invalid or expired code').waitFor()
    await picture(other.page, 'sign-in-used-link')
  })

  await journey('email and password; the sign-in outlives a reload and ends in every tab', async (t) => {
    const { context, page } = await open(t, { expected: /status of 401/ })
    await page.goto(at('/account'))
    await page.getByLabel('Email').fill(app.developer.email)
    await page.getByLabel('Password').fill('wrong')
    await page.keyboard.press('Enter')
    await page.getByText('Incorrect email or password').waitFor()
    await page.getByLabel('Password').fill(app.developer.password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Account' }).waitFor()
    await page.reload()
    await page.getByText(app.developer.email).waitFor()
    const second = await context.newPage()
    await second.goto(at('/people'))
    await second.getByRole('heading', { name: 'People' }).waitFor()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    for (const tab of [page, second]) await tab.getByRole('button', { name: 'Sign in' }).waitFor()
    await second.close()
  })

  await journey('a sign-in that ends is renewed over the page, which goes on as it was', async (t) => {
    const { page } = await signedIn(t, { expected: /status of 401/ })
    await page.getByRole('link', { name: 'Ada' }).waitFor()
    await app.db.query('delete from console_session')
    await page.getByRole('searchbox').fill('ada')
    await page.getByRole('dialog').getByLabel('Email').fill(app.developer.email)
    await page.getByRole('dialog').getByLabel('Password').fill(app.developer.password)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Ada' }).waitFor()
    t.equal(await page.getByRole('searchbox').inputValue(), 'ada')
    t.equal(await page.getByRole('row').count(), 2, 'the head, and whom it found')
  })

  await journey('the day shows what the API answers, and nothing where nothing was measured', async (t) => {
    const { page } = await signedIn(t)
    const asked: string[] = []
    // What the list of people still asks for everybody is its own.
    page.on('request', (request) => request.url().includes(ada) && asked.push(request.url()))
    const clicked = performance.now()
    await page.getByRole('link', { name: 'Ada' }).click()
    await page.waitForURL(/\/day\/2026-03-29$/)
    await page.locator('[data-chart="Day"][data-state="ready"] canvas').waitFor()
    t.comment(`${Math.round(performance.now() - clicked)} ms from the click to the newest day`)
    t.ok(asked.length <= 8, `${asked.length} requests`)
    await page.goto(at(`/people/${ada}/day/${ORDINARY}`))
    const chart = page.locator('[data-chart="Day"][data-state="ready"]')
    await chart.waitFor()
    const summary = await app.request(
      'GET',
      `/api/v1/users/${ada}/summaries/activity?start_date=${ORDINARY}&end_date=${ORDINARY}`,
    )
    const { steps, heart_rate: heart } = summary.body.data[0]
    const text = await chart.textContent()
    t.match(text, new Intl.NumberFormat('en').format(steps))
    t.match(text, `${heart.min_bpm}–${heart.max_bpm}`)
    t.match(text, /Running 8\.0 km/)
    const ink = await inkOf(page, [1 / 24, 11 / 24, 13.5 / 24, 18 / 24])
    t.strictSame(ink, [true, true, false, true], 'a line, but none between 12:30 and 15:00')
    await chart.focus()
    for (let n = 0; n < 3; n += 1) await page.keyboard.press('ArrowRight')
    t.match(await chart.getAttribute('aria-valuetext'), /^00:10: Heart rate \d+ at 00:10/)
    await page.getByText('Sources', { exact: true }).last().click()
    await page.getByText('Of each quarter of an hour the best source counts').waitFor()
    t.match(await page.locator('.events').textContent(), /Thu 23:10–\d\d:\d\d Sleep.*17:00–17:45 Running 8\.0 km/)
    await page.keyboard.press('[')
    await page.waitForURL(/\/day\/2026-02-19$/)
    const strip = page.locator('[data-chart="Year strip"]')
    await strip.focus()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/day\/2026-\d\d-\d\d$/)
    await page.goBack()
    await page.keyboard.press('n')
    await page.waitForURL(/\/night\/2026-02-19$/)
    await page.goBack()
    await page.waitForURL(/\/day\/2026-02-19$/)
  })

  await journey('each sample is on one local day: of a flight, and of 23 hours', async (t) => {
    const { page } = await signedIn(t)
    const points = async (date: string) => {
      await visit(page, at(`/people/${ada}/day/${date}`))
      const chart = page.locator('[data-chart="Day"][data-state="ready"]')
      await chart.or(page.getByText('Nothing is stored for this day')).waitFor()
      return (await chart.count()) > 0 ? Number(await chart.getAttribute('data-points')) : 0
    }
    const stored = async (start: string, end: string) => {
      const query = `types=heart_rate,steps&resolution=1min&start_time=${start}&end_time=${end}&limit=1`
      return (await app.request('GET', `/api/v1/users/${ada}/timeseries?${query}`)).body.pagination.total_count
    }
    const sum = (await points('2026-02-24')) + (await points(FLIGHT)) + (await points('2026-02-26'))
    t.equal(sum, await stored('2026-02-24T12:00:00Z', '2026-02-27T12:00:00Z'))
    await visit(page, at(`/people/${ada}/day/${FLIGHT}`))
    await page.getByText('+01:00 → −05:00').waitFor()
    await picture(page, 'day-flight')
    t.equal(await points(SHORT), await stored('2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z'))
    await page.getByText('+01:00 → +02:00').waitFor()
  })

  await journey('the night: stages by key, and the sums of the summary', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, at(`/people/${ada}/night/${ORDINARY}`))
    const chart = page.locator('[data-chart="hypnogram"][data-state="ready"]')
    await chart.waitFor()
    await chart.focus()
    await page.keyboard.press('ArrowRight')
    t.equal(await chart.getAttribute('aria-valuetext'), 'Light, 23:10 to 23:35, 25 min')
    await page.keyboard.press('ArrowRight')
    t.equal(await chart.getAttribute('aria-valuetext'), 'Deep, 23:35 to 00:05, 30 min')
    const answer = await app.request(
      'GET',
      `/api/v1/users/${ada}/summaries/sleep?start_date=${ORDINARY}&end_date=${ORDINARY}`,
    )
    const [summary] = answer.body.data
    const said = (minutes: number) =>
      minutes >= 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes} min`
    const totals = await page.locator('.totals').textContent()
    t.match(totals, `Asleep${said(summary.duration_minutes)}`)
    for (const [name, field] of [
      ['REM', 'rem'],
      ['Light', 'light'],
      ['Deep', 'deep'],
      ['Awake', 'awake'],
    ] as const) {
      t.match(totals, `${name}${said(summary.stages[`${field}_minutes`])}`, name)
    }
    await page.locator('[data-chart="Night"][data-state="ready"]').waitFor()
    const listed = await page.locator('details li').allTextContents()
    t.equal(listed.length, Number(await chart.getAttribute('data-points')))

    // Clocks were set forward in it.
    await visit(page, at(`/people/${ada}/night/${SHORT}`))
    const range = 'start_date=2026-03-28T20:00:00Z&end_date=2026-03-29T12:00:00Z'
    const [session] = (await app.request('GET', `/api/v1/users/${ada}/events/sleep?${range}`)).body.data
    const end = new Date(Date.parse(session.end_time) + 7_200_000).toISOString().slice(11, 16)
    await page.getByText(`asleep, 23:10 to ${end}`).waitFor()
  })

  await journey('says why nothing is there, what failed, and tries again', async (t) => {
    const { page } = await signedIn(t, { expected: /status of 503|net::ERR_FAILED/ })
    await visit(page, at(`/people/${ada}/day/2025-06-01`))
    await page.getByText('Nothing is stored for this day.').waitFor()
    await visit(page, at(`/people/${ada}/day/0001-01-01`))
    await page.getByRole('heading', { name: 'Nothing is here' }).waitFor()
    const detail = 'Too many large pages at once; please retry.'
    await page.route('**/timeseries?*', (route) => route.fulfill({ status: 503, json: { detail } }))
    await visit(page, at(`/people/${ada}/day/${ORDINARY}`))
    await page.getByText(detail).waitFor()
    await page.unroute('**/timeseries?*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('[data-chart="Day"][data-state="ready"]').waitFor()
    await page.route('**/summaries/activity?*', (route) => route.abort())
    await page.keyboard.press('[')
    await page.getByText('The service cannot be reached.').waitFor()
  })

  await journey('is readable for everybody, at every width and in both themes', async (t) => {
    for (const width of [390, 1280]) {
      for (const theme of themesAt(width)) {
        const name = `${width}-${theme}`
        const { page } = await open(t, { width, dark: theme === 'dark' })
        await page.goto(at(''))
        await page.getByRole('button', { name: 'Sign in' }).waitFor()
        await inspect(t, page, `sign-in-${name}`)
        // In the tab that shows the sign-in: only the fragment changes.
        await page.goto(await link())
        await page.getByText('Ada').waitFor()
        await inspect(t, page, `people-${name}`)
        await visit(page, at(`/people/${ada}/day/${ORDINARY}`))
        await page.locator('[data-chart="Day"][data-state="ready"] canvas').waitFor()
        await inspect(t, page, `day-${name}`)
        await visit(page, at(`/people/${ada}/night/${ORDINARY}`))
        await page.locator('[data-chart="Night"][data-state="ready"] canvas').first().waitFor()
        await inspect(t, page, `night-${name}`)
        await visit(page, at('/account'))
        await page.getByRole('heading', { name: 'Account' }).waitFor()
        await inspect(t, page, `account-${name}`)
      }
    }
  })
})

/** Whether the first canvas has drawn anything at these shares of its width. */
function inkOf(page: Page, shares: number[]): Promise<boolean[]> {
  return page.evaluate(`(() => {
    const canvas = document.querySelector('canvas')
    const { width, height } = canvas
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height)
    const inked = new Set()
    for (let at = 3; at < data.length; at += 4) if (data[at] > 0) inked.add(((at - 3) / 4) % width)
    const near = (x) => Array.from({ length: 8 }, (_, n) => Math.round(x) - 4 + n)
    return ${JSON.stringify(shares)}.map((share) => near(share * width).some((x) => inked.has(x)))
  })()`)
}
