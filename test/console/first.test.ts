// The first minute: from the link of the first start to a chart of demo data, and from a new person's phone to theirs.
import type { Page } from 'playwright-core'
import t from 'tap'
import { createTestDatabase, startTestApp } from '../support/app.ts'
import { installedChromium, openWindow, sharedBrowser, visit } from '../support/browser.ts'
import { HOSTILE, openConsoleWindows } from '../support/console-window.ts'
import { body, heartRate, startImports } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'
import { onDatabase, startService } from '../support/service.ts'
import { inTestLong } from '../support/thorough.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')
const chromium = await installedChromium()
const skip = !chromium && 'no Chromium is installed'
const MINUTE_MS = 60_000

const chartOf = (page: Page) => page.locator('[data-chart="Day"][data-state="ready"] canvas')

t.test('from the first start to the first chart of demo data', { skip: skip || inTestLong.skip }, async (t) => {
  if (!chromium) return
  const database = await createTestDatabase(t, engine)
  const started = performance.now()
  const service = await startService(t, { ...onDatabase(database), EVENT_FEED_ENABLED: 'true' })
  const [link = ''] = /http\S+\/console#code=\S+/.exec(service.output()) ?? []
  const browser = await sharedBrowser(chromium)
  const problems: string[] = []
  const { page } = await openWindow(t, { browser, origin: new URL(link).origin, problems }, {})
  await page.goto(link)
  const clicked = page.getByRole('button', { name: 'Show demo data' })
  await clicked.press('Enter')
  const pressed = performance.now()
  await chartOf(page).waitFor()
  const seconds = (ms: number) => ((performance.now() - ms) / 1000).toFixed(1)
  t.comment(`first chart ${seconds(started)} s after the start, ${seconds(pressed)} s after the click`)
  await page.getByRole('heading', { name: 'Ada Runner' }).waitFor()
  const ink = await page.evaluate(`(() => {
    const { width, height } = document.querySelector('canvas')
    return document.querySelector('canvas').getContext('2d').getImageData(0, 0, width, height).data.some((one) => one > 0)
  })()`)
  t.equal(ink, true, 'something is drawn')

  const other = await openWindow(t, { browser, origin: new URL(link).origin, problems }, { expected: /status of 401/ })
  await other.page.goto(link)
  await other.page.getByText('Invalid or expired code').waitFor()

  t.strictSame(problems, [], 'no page reported an error')
  await service.kill()
})

t.test('a new person', { skip }, async (t) => {
  if (!chromium) return
  const app = await startTestApp(t, engine, { demoDays: 2 })
  await startImports(t, app)
  const { at, journey, signedIn, everywhere } = await openConsoleWindows(t, app, chromium)
  const oneRate = () => body([heartRate(Date.now() - 10 * MINUTE_MS, 64)])

  await journey('nobody there: three ways to begin', async (t) => {
    await everywhere(t, {
      first: (page) => page.getByText('Nothing is stored yet.').waitFor(),
      'new-person': async (page) => {
        await page.getByRole('link', { name: 'Connect my phone' }).click()
        await page.getByLabel('First name').waitFor()
      },
    })
  })

  await journey('a phone: the code lets it in, and the chart follows the first upload by itself', async (t) => {
    const { page } = await signedIn(t, { expected: /net::ERR_FAILED/ })
    await page.getByRole('link', { name: 'Connect my phone' }).press('Enter')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('Fill in one of them').waitFor()
    await page.getByLabel('First name').fill(HOSTILE)
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    const code = (await dialog.locator('pre').nth(1).textContent()) ?? ''
    t.match(code, /^[A-Z2-9]{8}$/)
    await dialog.getByRole('img', { name: 'QR code' }).waitFor()
    await dialog.getByText('HOST=0.0.0.0').waitFor()
    await dialog.getByText('Waiting for an upload').waitFor()
    await page.route('**/users/*?include=*', (route) => route.abort())
    await page.waitForEvent('requestfailed')
    await page.unroute('**/users/*?include=*')
    const { status, body: phone } = await app.request('POST', '/api/v1/invitation-code/redeem', {
      auth: 'none',
      body: { code },
    })
    t.equal(status, 200)
    const auth = { bearer: phone.access_token }
    await app.request('POST', `/api/v1/sdk/users/${phone.user_id}/sync`, { auth, body: oneRate() })
    await page.locator('[data-chart="Day"][data-state="ready"]').waitFor()
    t.match(page.url(), /\/day\/\d{4}-\d\d-\d\d$/)
    t.notOk((await page.content()).includes(code), 'the code is gone')
    t.equal(await page.locator('img').count(), 0, 'the name is text')
    await page.goBack()
    await page.getByRole('heading', { name: 'People' }).waitFor()
  })

  await journey('a line to paste: it uploads with the key that it shows', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, at('/people/new?by=curl'))
    await page.getByLabel('Id in another system').fill('S07')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Make a key' }).click()
    const line = (await page.getByRole('dialog').locator('pre').textContent()) ?? ''
    const [, url = '', key = '', sent = ''] = /POST (\S+) -H 'X-Service-API-Key: (\S+)' .* -d '(.*)'$/.exec(line) ?? []
    t.equal(new URL(url).origin, app.url)
    const headers = { 'X-Service-API-Key': key }
    const answer = await app.request('POST', new URL(url).pathname, { auth: 'none', headers, body: JSON.parse(sent) })
    t.equal(answer.status, 202)
    await page.locator('[data-chart="Day"][data-state="ready"]').waitFor()
    t.notOk((await page.content()).includes(key), 'the key is gone')
  })

  await journey('demo people say what they are, and leave the list as they came', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, at('/account'))
    await page.getByRole('button', { name: 'Show demo data' }).click()
    await chartOf(page).waitFor()
    await page.getByRole('link', { name: 'People' }).click()
    await page.getByText('Some of these people are invented').waitFor()
    await page.getByRole('button', { name: 'Remove the demo data' }).click()
    await page.getByRole('link', { name: 'Cleo Park' }).waitFor({ state: 'detached' })
    await page.getByText('invented').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'S07' }).waitFor()
    await visit(page, at('/people?page=3'))
    await page.getByText('There is no page 3.').waitFor()
    await page.getByRole('button', { name: 'Page 1, the last one' }).click()
    await page.getByRole('link', { name: 'S07' }).waitFor()
    await page.getByRole('searchbox').fill('S07')
    await page.waitForURL(/search=S07/)
    await page.getByRole('link', { name: 'S07' }).waitFor()
    t.equal(await page.getByRole('row').count(), 2, 'the head, and whose id it is elsewhere')
    await page.getByRole('searchbox').fill('nobody')
    await page.waitForURL(/search=nobody/)
    await page.getByRole('link', { name: 'People' }).click()
    await page.getByRole('link', { name: 'S07' }).waitFor()
    t.equal(await page.getByRole('searchbox').inputValue(), '', 'the box shows what the address says')
  })
})
