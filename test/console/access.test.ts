// Keys and applications: each secret is shown once, and is gone from the page afterwards.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startTestApp } from '../support/app.ts'
import { installedChromium, visit } from '../support/browser.ts'
import { HOSTILE, openConsoleWindows } from '../support/console-window.ts'
import { engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')
const chromium = await installedChromium()

t.test('access in the console', { skip: !chromium && 'no Chromium is installed' }, async (t) => {
  if (!chromium) return
  const app = await startTestApp(t, engine)
  const { at, journey, signedIn, everywhere } = await openConsoleWindows(t, app, chromium)
  const statusOf = async (key: string) =>
    (await app.request('GET', '/api/v1/users', { auth: 'none', headers: { 'X-Service-API-Key': key } })).status

  await journey('a key is made, renamed, replaced and deleted by keyboard alone', async (t) => {
    const { page } = await signedIn(t)
    await page.keyboard.press('g')
    await page.keyboard.press('k')
    await page.getByRole('heading', { name: 'Access' }).waitFor()
    await press(page, 'New key')
    await page.getByRole('dialog').getByLabel('Name').fill(HOSTILE)
    await page.keyboard.press('Enter')
    const first = await secretOf(t, page, /^sk-/)
    t.equal(await statusOf(first), 200)
    t.equal(await focused(page), 'New key', 'the focus is where the dialog was opened')
    const row = page.getByRole('listitem').filter({ hasText: HOSTILE.slice(0, 28) })
    await row.getByText('last used: never').waitFor()

    await row.getByRole('button', { name: 'Rename' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByLabel('Name').fill('Warehouse')
    await page.keyboard.press('Enter')
    const renamed = page.getByRole('listitem').filter({ hasText: 'Warehouse' })
    await renamed.waitFor()
    await renamed.getByRole('button', { name: 'New secret' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'New secret' }).press('Enter')
    const second = await secretOf(t, page, /^sk-/)
    t.strictSame([await statusOf(first), await statusOf(second)], [401, 200])

    await renamed.getByRole('button', { name: 'Delete' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    t.equal(await statusOf(second), 200, 'nothing happens to whoever thinks better of it')
    await renamed.getByRole('button', { name: 'Delete' }).press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter')
    await renamed.waitFor({ state: 'detached' })
    t.equal(await statusOf(second), 401)
  })

  await journey('an application lets a phone in with the secret that was shown', async (t) => {
    const { page } = await signedIn(t)
    const { id } = (await app.request('POST', '/api/v1/users', { body: { first_name: 'Ada' } })).body
    await visit(page, at('/access'))
    await press(page, 'New application')
    await page.getByRole('dialog').getByLabel('Name').fill('Pulse for iOS')
    await page.keyboard.press('Enter')
    const secret = await secretOf(t, page, /^secret_/)
    const appId = await page.locator('code', { hasText: /^app_/ }).textContent()
    const token = (app_secret: string) =>
      app.request('POST', `/api/v1/users/${id}/token`, { auth: 'none', body: { app_id: appId, app_secret } })
    t.equal((await token(secret)).status, 200)
    const row = page.getByRole('listitem').filter({ hasText: 'Pulse for iOS' })
    await row.getByRole('button', { name: 'New secret' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'New secret' }).click()
    const next = await secretOf(t, page, /^secret_/)
    t.strictSame([(await token(secret)).status, (await token(next)).status], [401, 200])
    await row.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Every phone that it let in is signed out.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await row.waitFor({ state: 'detached' })
    t.equal((await token(next)).status, 401)
  })

  await journey('is readable for everybody, at every width and in both themes', async (t) => {
    const body = { name: HOSTILE }
    await app.request('POST', '/api/v1/applications', { auth: 'developer', body })
    await everywhere(t, {
      access: async (page) => {
        await visit(page, at('/access'))
        await page.getByText('app_').first().waitFor()
      },
      'access-secret': async (page) => {
        await press(page, 'New application')
        await page.getByRole('dialog').getByLabel('Name').fill('Pulse')
        await page.keyboard.press('Enter')
        await page.getByText('This is shown only now').waitFor()
      },
    })
  })
})

const focused = (page: Page) => page.evaluate('document.activeElement.textContent')

async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name }).focus()
  await page.keyboard.press('Enter')
}

/** The secret in the dialog, which closes. */
async function secretOf(t: Test, page: Page, form: RegExp): Promise<string> {
  const dialog = page.getByRole('dialog').filter({ hasText: 'This is shown only now' })
  const secret = (await dialog.locator('pre').filter({ hasText: form }).first().textContent()) ?? ''
  t.match(secret, form)
  await dialog.getByRole('button', { name: 'Close' }).press('Enter')
  await dialog.waitFor({ state: 'detached' })
  t.notOk((await page.content()).includes(secret), 'nothing of it is left in the page')
  return secret
}
