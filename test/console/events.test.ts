// Events and uploads of people on the screen: filters in the address, a workout, deletion, and text that would do harm.
import type { Page } from 'playwright-core'
import t from 'tap'
import { startTestApp } from '../support/app.ts'
import { installedChromium, visit } from '../support/browser.ts'
import { ORDINARY, storeLife } from '../support/console-life.ts'
import { HOSTILE, openConsoleWindows } from '../support/console-window.ts'
import { workout } from '../support/event-lists.ts'
import { body, createUser, heartRate, importBody, iso, PHONE, record, startImports } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')
const HOUR = 3_600_000
const chromium = await installedChromium()

t.test('events and uploads in the console', { skip: !chromium && 'no Chromium is installed' }, async (t) => {
  if (!chromium) return
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const { at, journey, signedIn, everywhere } = await openConsoleWindows(t, app, chromium)
  const ada = await storeLife(app, 'Ada')
  const day = Date.parse(`${ORDINARY}T00:00:00Z`)
  const run = workout('running', day + 30 * HOUR, 20, { title: HOSTILE })
  const way = Array.from({ length: 900 }, (_, at) => ({
    timestamp: iso(day + 54 * HOUR + at * 1000),
    ...{
      latitude: -16.5 + Math.sin(at / 150) / 100,
      longitude: at < 450 ? 179.99 + at / 45_000 : -180 + (at - 450) / 45_000,
    },
  }))
  const lap = {
    startDate: iso(day + 54 * HOUR),
    endDate: iso(day + 54 * HOUR + 480_000),
    type: 'lap',
    distanceM: 1_500,
  }
  const walk = workout('walking', day + 54 * HOUR, 15, { route: way, laps: [lap] })
  const meal = record('HKCorrelationTypeIdentifierFood', day, 1, { id: 'meal-1', metadata: { title: HOSTILE } })
  const energy = { parentId: 'meal-1', unit: 'kcal' }
  const lunch = record('HKQuantityTypeIdentifierDietaryEnergyConsumed', day, 550, energy)
  const records = [meal, lunch, heartRate(day, null), record(HOSTILE, day, 1)]
  // The watch measured on that day, but not during the workout; the phone did.
  const strap = [1, 2, 3].map((minute) => heartRate(day + 30 * HOUR + minute * 60_000, 140, { source: PHONE }))
  await importBody(app, ada, body([], { data: { records, workouts: [run, walk] } }))
  await importBody(app, ada, body([...strap, heartRate(day + 34 * HOUR, 61)]))
  // As a provider reports them.
  const zones = { zones: [{ zone: 2, seconds: 600 }] }
  await app.db.query(`update workout set hr_zones = $1 where type = 'running'`, [JSON.stringify(zones)])
  const events = (query: string) => at(`/people/${ada}/events?${query}`)
  const rows = (page: Page) => page.locator('.items > li')
  const range = 'from=2026-02-10&to=2026-03-10'

  await journey('filters are in the address, and each kind says what it is', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, at(`/people/${ada}/day/${ORDINARY}`))
    await page.locator('[data-chart="Day"][data-state="ready"]').waitFor()
    await page.keyboard.press('e')
    await page.getByLabel('From').fill('2026-02-10')
    await page.getByLabel('To', { exact: true }).fill('2026-03-10')
    const { data } = (
      await app.request('GET', `/api/v1/users/${ada}/events/workouts?start_date=2026-02-10&end_date=2026-02-20`)
    ).body
    await page.getByText(`Running 8.0 km, ${data[0].avg_heart_rate_bpm} bpm on average`).waitFor()
    t.match(page.url(), /from=2026-02-10&to=2026-03-10/)
    await page.reload()
    await page.getByText('Running 8.0 km').waitFor()
    t.equal(await rows(page).count(), 3)
    await page.getByRole('button', { name: 'Sleep', exact: true }).click()
    await page
      .getByText(/^Sleep, \d h \d+ min asleep$/)
      .first()
      .waitFor()
    t.match(page.url(), /kind=sleep/)
    t.equal(await rows(page).count(), 10)
    await page.getByRole('button', { name: 'Cycles' }).click()
    await page.getByText('There are no cycles from').waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Ada' }).waitFor()
  })

  await journey(
    'dates are those of the person: what starts before midnight in UTC can be of the next day',
    async (t) => {
      const user = await createUser(app)
      await app.request('PATCH', `/api/v1/users/${user}`, { body: { first_name: 'Noor' } })
      const late = (title: string, at: string, zoneOffset: string) =>
        workout('walking', Date.parse(at), 15, { title, zoneOffset })
      const workouts = [
        late('Auckland', '2026-02-19T12:30:00Z', '+13:00'),
        late('Honolulu', '2026-02-21T05:00:00Z', '-10:00'),
        late('Day before', '2026-02-20T01:00:00Z', '-10:00'),
        late('Day after', '2026-02-20T20:00:00Z', '+13:00'),
      ]
      await importBody(app, user, body([], { data: { workouts } }))
      const { page } = await signedIn(t)
      await visit(page, at(`/people/${user}/events?from=2026-02-20&to=2026-02-20`))
      await page.getByText('Fri 20 Feb 19:00–19:15').waitFor()
      t.strictSame(await rows(page).locator('strong').allTextContents(), ['Honolulu', 'Auckland'])
      await visit(page, at(`/people/${user}/events?from=2026-02-18&to=2026-02-18`))
      await page.getByText('There are no workouts from').waitFor()
    },
  )

  await journey('a workout shows the heart rate that the API has of it', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, events(range))
    const row = rows(page).filter({ hasText: 'Running 8.0 km' })
    await row.locator('summary').press('Enter')
    const chart = row.locator('[data-chart="Workout"][data-state="ready"]')
    await chart.locator('canvas').waitFor()
    await row.getByText('Zone 2: 10 min').waitFor()
    const span = 'start_time=2026-02-20T16:00:00Z&end_time=2026-02-20T16:45:00Z'
    const { body: page_ } = await app.request(
      'GET',
      `/api/v1/users/${ada}/timeseries?types=heart_rate&resolution=raw&limit=1&${span}`,
    )
    t.equal(Number(await chart.getAttribute('data-points')), page_.pagination.total_count)
  })

  await journey('a workout that its own source did not measure shows who measured', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, events(range))
    const row = rows(page).filter({ hasText: 'onerror' })
    await row.locator('summary').click()
    await row.getByText('Measured by iPhone 16 Pro.').waitFor()
    t.equal(await row.locator('[data-chart="Workout"]').getAttribute('data-points'), '3')
  })

  await journey('its laps, and its way over the line where the dates change', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, events(range))
    const row = rows(page).filter({ hasText: 'Walking' })
    await row.locator('summary').click()
    await row.getByText('No heart rate was measured during it.').waitFor()
    await row.getByRole('row', { name: '1 07:00 8:00 1.50' }).waitFor()
    const drawn = (await row.getByRole('img', { name: '900 points' }).locator('path').getAttribute('d')) ?? ''
    const xs = drawn
      .split(/[ML]/)
      .filter(Boolean)
      .map((point) => Number(point.split(' ')[0]))
    t.same(
      xs,
      xs.toSorted((a, b) => a - b),
      'it goes east all the way',
    )
    t.ok(Math.max(...xs) > 100)
  })

  await journey('a meal goes, and says so', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, events(`${range}&kind=meals`))
    await page.getByText('550 kcal').waitFor()
    await page.getByRole('link', { name: 'Fri 20 Feb 01:00', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByText('Its nutrients go along. It stays deleted').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('There are no meals').waitFor()
    t.same((await app.db.query('select from meal')).length, 0)
  })

  await journey('deletion says what goes along, and takes that alone', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, events(range))
    const row = rows(page).filter({ hasText: 'onerror' })
    await row.getByRole('button', { name: 'Delete' }).press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The samples that came with it go along').waitFor()
    await dialog.getByRole('button', { name: 'Delete' }).press('Enter')
    await row.waitFor({ state: 'detached' })
    const left = await app.request(
      'GET',
      `/api/v1/users/${ada}/events/workouts?start_date=2026-02-10&end_date=2026-03-10`,
    )
    t.equal(left.body.data.length, 2)
    t.equal(await page.locator('main img').count(), 0)
  })

  await journey('uploads of everybody, by what became of them', async (t) => {
    const { page } = await signedIn(t)
    await page.keyboard.press('g')
    await page.keyboard.press('u')
    await page.getByRole('button', { name: 'partly stored' }).click()
    t.match(page.url(), /status=partial/)
    await page.locator('[data-upload="partial"] summary').click()
    t.equal(await rows(page).count(), 1)
    await page.getByText(/records no\. 3 +value: Field required/).waitFor()
    await page.getByText('onerror').first().waitFor()
    t.equal(await page.locator('main img').count(), 0)
    await page.getByRole('link', { name: 'Ada' }).click()
    await page.getByRole('heading', { name: 'Uploads' }).waitFor()
    await page.getByRole('link', { name: 'People' }).click()
    // Samples end on 29 March; neither that day nor today is without.
    const silent = Math.floor((Date.now() - Date.parse('2026-03-29')) / (24 * HOUR)) - 1
    await page.getByRole('row', { name: 'Ada' }).getByText(`nothing for ${silent} days`).waitFor()
  })

  await journey('is readable for everybody, at every width and in both themes', async (t) => {
    await app.request('PATCH', `/api/v1/users/${ada}`, { body: { first_name: HOSTILE } })
    await everywhere(t, {
      events: async (page) => {
        await visit(page, events(range))
        await rows(page).first().waitFor()
        for (const one of await rows(page).locator('summary').all()) await one.click()
        await page.locator('[data-chart="Workout"] canvas').waitFor()
        await page.locator('.way').waitFor()
      },
      uploads: async (page) => {
        await visit(page, at('/uploads'))
        await page.locator('[data-upload="partial"] summary').click()
        await page.getByText('records no. 3').waitFor()
      },
    })
  })
})
