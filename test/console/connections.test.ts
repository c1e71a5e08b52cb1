// How a person's data comes in, on the screen: providers of the simulator, uploads with what was left out, and the end of it.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { endGrant } from '../../server/oauth/disconnect.ts'
import type { TestApp } from '../support/app.ts'
import { installedChromium, visit } from '../support/browser.ts'
import { callBack } from '../support/clouds.ts'
import { HOSTILE, openConsoleWindows } from '../support/console-window.ts'
import { settled, startPulling, startSimulated } from '../support/people.ts'
import { body, createUser, heartRate, importBody, record } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')
const chromium = await installedChromium()

t.test('connections in the console', { skip: !chromium && 'no Chromium is installed' }, async (t) => {
  if (!chromium) return
  const { app } = await startSimulated(t, engine, { world: { people: 1, days: 20 }, historicalSyncOnConnect: false })
  await startPulling(t, app)
  const { at, journey, signedIn, everywhere } = await openConsoleWindows(t, app, chromium)
  const user = await createUser(app)
  await app.request('PATCH', `/api/v1/users/${user}`, { body: { first_name: 'Ana', last_name: HOSTILE } })
  const show = async (page: Page) => {
    await visit(page, at(`/people/${user}/connections`))
    await page.getByRole('heading', { name: 'Uploads' }).waitFor()
  }

  await journey(
    'every dialog has a way out without a keyboard, and says so where there is nothing to choose',
    async (t) => {
      const { page } = await signedIn(t)
      const answer = (await app.request('GET', '/api/v1/oauth/providers')).body as { is_enabled: boolean }[]
      await page.route('**/api/v1/oauth/providers', (route) =>
        route.fulfill({ json: answer.map((one) => ({ ...one, is_enabled: false })) }),
      )
      await show(page)
      await page.getByRole('button', { name: 'Connect a provider' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('No provider is enabled.').waitFor()
      await dialog.getByRole('button', { name: 'Close' }).click()
      await dialog.waitFor({ state: 'detached' })
      await visit(page, at('/access'))
      for (const name of ['New key', 'New application']) {
        await page.getByRole('button', { name }).click()
        await dialog.getByRole('button', { name: 'Close' }).click()
        await dialog.waitFor({ state: 'detached' })
      }
    },
  )

  await journey('a link connects a provider; the page follows by itself', async (t) => {
    const { page } = await signedIn(t, { expected: /status of 400/ })
    await show(page)
    await page.getByRole('button', { name: 'Connect a provider' }).press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Oura' }).press('Enter')
    await consent(t, app, page)
    await page.locator('[data-connection="oura"]').getByText('active').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })

    const runs = page.locator('[data-run="success"]')
    await runs.first().waitFor()
    await page.getByRole('button', { name: 'Fetch the past' }).click()
    await page.getByLabel('Days').fill('10')
    await page.keyboard.press('Enter')
    await runs.nth(1).waitFor()
    await settled(app)
    const run = runs.first()
    t.match(await run.textContent(), /Oura: [1-9]\d* new/)
    await run.getByText('What it announced and stored').click()
    await run
      .getByRole('rowheader', { name: /asked for: done/ })
      .first()
      .waitFor()
  })

  await journey('a consent that has ended is said, and given again', async (t) => {
    const { page } = await signedIn(t)
    await app.db.transaction(async (tx) => {
      for (const { id } of await tx.query<{ id: string }>('select id from provider_grant for update'))
        await endGrant(tx, app.deps.oauth.settings, id, { status: 'revoked', reason: 'refresh_failed' })
    })
    const oura = page.locator('[data-connection="oura"]')
    const enable = async (is_enabled: boolean) => {
      const asked = { auth: 'developer', body: { providers: { oura: is_enabled } } } as const
      t.equal((await app.request('PUT', '/api/v1/oauth/providers', asked)).status, 200)
      await show(page)
      await oura.getByText('Oura needs a new consent').waitFor()
    }
    await enable(false)
    await oura.getByText('Oura is switched off').waitFor()
    t.equal(await oura.getByRole('button', { name: 'Ask for a new consent' }).count(), 0)
    await enable(true)
    await oura.getByRole('button', { name: 'Ask for a new consent' }).click()
    await consent(t, app, page)
    await oura.getByText('needs a new consent').waitFor({ state: 'detached' })
    await settled(app)
    await oura.getByRole('button', { name: 'Disconnect' }).click()
    await page.getByRole('dialog').getByText('What is stored stays').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click()
    await oura.getByText('ended', { exact: true }).waitFor()
  })

  await journey('while the service is out of order, the page stays, and a key that is shown once', async (t) => {
    const { page } = await signedIn(t, { expected: /status of (503|429)/, isOwn: true })
    await page.clock.install()
    await show(page)
    await page.getByRole('button', { name: 'Upload with curl' }).click()
    await page.getByRole('button', { name: 'Make a key' }).click()
    const line = page.getByRole('dialog').locator('pre')
    const key = await line.textContent()
    for (const status of [503, 429]) {
      const isRuns = (url: URL) => url.pathname.endsWith('/sync/runs')
      await page.route(isRuns, (route) => route.fulfill({ status, json: { detail: 'Out of order' } }))
      const failed = page.waitForResponse((answer) => answer.status() === status)
      await page.clock.runFor(61_000)
      await (await failed).finished()
      await page.clock.runFor(1_000)
      t.equal(await line.textContent(), key)
      t.ok(await page.getByRole('heading', { name: 'Uploads', includeHidden: true }).isVisible())
      await page.unroute(isRuns)
    }
  })

  await journey('an upload: what was left out, where and why; it can be imported again', async (t) => {
    const at = Date.now() - 3_600_000
    const hostile = `<script>alert(1)</script>${'y'.repeat(200)}`
    const records = [
      heartRate(at, 60),
      heartRate(at + 60_000, null),
      heartRate(at + 120_000, 999),
      record('heart_rate', at, 61),
      record(hostile, at, 1),
    ]
    await importBody(app, user, body(records, { unheardOf: 1 }))
    const { page } = await signedIn(t)
    await show(page)
    const upload = page.locator('[data-upload="partial"]')
    await upload.getByText('5 received').waitFor()
    await upload.getByText(/not stored, or not as sent/).click()
    await upload.getByText(/records no\. 2 +value: Field required/).waitFor()
    const text = (await upload.textContent()) ?? ''
    t.match(text, 'HKQuantityTypeIdentifierHeartRate', 'what was probably meant')
    t.ok(text.includes(hostile.slice(0, 50)))
    t.match(text, /outside 6–300 bpm/)
    t.match(text, /unheardOf/)
    await upload.getByRole('button', { name: 'Import again' }).click()
    await page.getByText('imported again').waitFor()
    t.equal(await page.locator('main script').count(), 0)
  })

  await journey('is readable for everybody, at every width and in both themes', async (t) => {
    await everywhere(t, {
      connections: async (page) => {
        await show(page)
        await page
          .getByText(/not stored, or not as sent/)
          .first()
          .click()
        await page.getByText('records no. 2').first().waitFor()
      },
      'connections-invite': async (page) => {
        await page.getByRole('button', { name: 'Connect a phone' }).click()
        await page.getByText('which lets one phone in').waitFor()
        await page.getByRole('dialog').locator('pre').nth(1).waitFor()
      },
    })
  })

  await journey('what came from one provider goes, then the person, each after the name is typed', async (t) => {
    const { page } = await signedIn(t, { expected: /status of 404/ })
    await show(page)
    await page.locator('[data-connection="apple"]').getByRole('button', { name: 'Delete its data' }).click()
    const dialog = page.getByRole('dialog')
    const confirm = async (text: string, button: string) => {
      await dialog.getByLabel('to confirm').fill(text)
      await dialog.getByRole('button', { name: button }).press('Enter')
    }
    await confirm('Ben', 'Delete its data')
    await dialog.getByText('That is something else.').waitFor()
    t.equal((await stored(app)).apple, 2)
    const word = (await dialog.locator('label strong').textContent()) ?? ''
    t.match(word, /^Ana <img/)
    await confirm(word, 'Delete its data')
    await dialog.waitFor({ state: 'detached' })
    const left = await stored(app)
    t.notOk(left.apple)
    t.ok(left.oura, 'what came from others stays')

    await page.getByRole('button', { name: 'Delete everything' }).click()
    await confirm(word, 'Delete everything')
    await page.getByRole('heading', { name: 'People' }).waitFor()
    await page.getByText('Nothing is stored yet.').waitFor()
    t.strictSame(await stored(app), {})
    t.equal((await app.request('GET', `/api/v1/users/${user}`)).status, 404)
  })
})

/** Samples by provider. */
async function stored({ db }: TestApp): Promise<Record<string, number>> {
  const rows = await db.query<{ provider: string; n: number }>(
    'select d.provider, count(*) as n from sample s join data_source d on d.id = s.source_id group by 1',
  )
  return Object.fromEntries(rows.map(({ provider, n }) => [provider, Number(n)]))
}

/** The person follows the link that is shown, and allows everything. */
async function consent(t: Test, app: TestApp, page: Page): Promise<void> {
  const link = new URL((await page.getByRole('dialog').locator('pre').textContent()) ?? '')
  const begun = await app.request('GET', link.pathname + link.search, { auth: 'none' })
  t.equal(begun.status, 200)
  const url = new URL(begun.body.authorization_url)
  url.searchParams.set('auto', 'person')
  const { headers } = await fetch(url, { redirect: 'manual' })
  const back = new URL(headers.get('location') ?? '')
  t.match((await callBack(app, back.pathname + back.search)).headers.get('location'), /success/)
}
