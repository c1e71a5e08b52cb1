// Months and years of a person in a real browser: what they show is what the summaries of the API say.
import type { Page } from 'playwright-core'
import type { TestApp } from '../support/app.ts'
import { visit } from '../support/browser.ts'
import { inChromium, tableOf } from '../support/console-journeys.ts'
import { ORDINARY, storeLife } from '../support/console-life.ts'

const text = (value: number | null | undefined) =>
  value == null ? '–' : new Intl.NumberFormat('en', { maximumFractionDigits: 2 }).format(value)

/** The rows of a summary by their date. */
async function summary(app: TestApp, user: string, kind: string, [first, last]: readonly [string, string]) {
  const path = `/api/v1/users/${user}/summaries/${kind}?start_date=${first}&end_date=${last}&limit=1000`
  const { body } = await app.request('GET', path)
  return new Map<string, Record<string, number | null>>(body.data.map((row: { date: string }) => [row.date, row]))
}

/** The cells that a table of days must have, by date. */
async function expected(app: TestApp, user: string, range: readonly [string, string]) {
  const [activity, sleep, recovery] = await Promise.all(
    ['activity', 'sleep', 'recovery'].map((kind) => summary(app, user, kind, range)),
  )
  return (date = '') => {
    const { steps, active_minutes } = activity?.get(date) ?? {}
    const variability = recovery?.get(date)?.avg_hrv_sdnn_ms
    return [date, ...[steps, active_minutes, sleep?.get(date)?.duration_minutes, variability].map(text)]
  }
}

const ready = (page: Page, name: string) => page.locator(`[data-chart="${name}"][data-state="ready"]`)

await inChromium('months and years', async (_, { app, at, signedIn, journey, everywhere }) => {
  const ada = await storeLife(app, 'Ada')

  await journey('each day of a month and of a year has the values of the API, in few requests', async (t) => {
    const { page } = await signedIn(t)
    for (const [name, path, range] of [
      ['Month', `/people/${ada}/month/${ORDINARY}`, ['2026-02-01', '2026-02-28']],
      ['Year', `/people/${ada}/year/${ORDINARY}`, ['2025-03-01', '2026-02-28']],
    ] as const) {
      await page.goto(at('/people'))
      const asked: string[] = []
      page.on('request', (request) => request.url().includes('/api/v1/users/') && asked.push(request.url()))
      await page.goto(at(path))
      await ready(page, name).waitFor()
      t.ok(asked.length <= 8, `${asked.length} requests`)
      const [head, ...rows] = await tableOf(page)
      t.strictSame(head, ['Date', 'Steps', 'Active, min', 'Asleep', 'HRV (SDNN), ms'])
      t.equal(rows.length, name === 'Month' ? 28 : 365)
      const cells = await expected(app, ada, range)
      t.strictSame(
        rows,
        rows.map(([date]) => cells(date)),
      )
    }
  })

  await journey('the keyboard opens a day, compares, and chooses what the calendar shows', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, at(`/people/${ada}/day/${ORDINARY}`))
    await page.locator('[data-chart="Day"]').waitFor()
    await page.keyboard.press('m')
    const month = ready(page, 'Month')
    await month.waitFor()
    t.equal(await page.evaluate('document.activeElement.tagName'), 'H1', 'the focus is where the page begins')
    await month.focus()
    for (let day = 0; day < 20; day += 1) await page.keyboard.press('ArrowRight')
    const steps = (await summary(app, ada, 'activity', [ORDINARY, ORDINARY])).get(ORDINARY)?.steps
    t.match(await month.getAttribute('aria-valuetext'), `Fri 20 Feb: Steps ${text(steps)}`)
    await page.getByRole('button', { name: /^Compare/ }).press('Enter')
    await page.waitForURL(/month\/2026-02-20\?compare=1$/)
    await page.reload()
    await page.getByText('The dashed line is the period before').waitFor()
    await page.getByLabel('Value').selectOption('Asleep')
    await page.waitForURL(/value=asleep/)
    const calendar = page.locator('[data-chart="Calendar of Asleep"]')
    await calendar.focus()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowUp')
    t.match(await calendar.getAttribute('aria-valuetext'), /^Friday,? 20 February 2026: \d h \d+ min/)
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/day\/2026-02-20$/)
    await page.goBack()
    await page.keyboard.press(']')
    await page.waitForURL(/month\/2026-03-20\?compare=1&value=asleep$/)
    await page.keyboard.press('y')
    await page.waitForURL(/year\/2026-03-20$/)
  })

  await journey('the nights of ten equal days are regular; days without anything say so', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, at(`/people/${ada}/month/${ORDINARY}`))
    await page.getByText('regularity 100 of 100').waitFor()
    // The same when an answer holds only three of the nights.
    const pages: string[] = []
    await page.route(/\/events\/sleep\?/, (route) => {
      pages.push(route.request().url())
      return route.continue({
        url: route
          .request()
          .url()
          .replace(/limit=\d+/, 'limit=3'),
      })
    })
    await page.reload()
    await page.getByText('regularity 100 of 100').waitFor()
    t.ok(pages.length >= 4, `${pages.length} pages of nights`)
    await page.unroute(/\/events\/sleep\?/)
    await visit(page, at(`/people/${ada}/year/2022-02-20`))
    await page.getByText('Nothing is stored for these days').waitFor()
  })

  await journey('is readable for everybody, at every width and in both themes', async (t) => {
    const show = (view: string) => async (page: Page) => {
      await visit(page, at(`/people/${ada}/${view}/${ORDINARY}?compare=1`))
      await page.locator('.lanes[data-state="ready"]').waitFor()
      if (view === 'month') await page.getByText('As a table').click()
    }
    await everywhere(t, { month: show('month'), year: show('year') })
  })
})
