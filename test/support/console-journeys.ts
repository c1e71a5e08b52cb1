// Journeys through the console: one service and one browser for the tests of a file.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { newConsoleCode } from '../../server/api/console/codes.ts'
import { startTestApp, type TestApp } from './app.ts'
import { installedChromium, openWindow, picture, startBrowser, type View, type Window } from './browser.ts'
import { startImports } from './sdk.ts'
import { engines } from './servers.ts'

/** What a journey has. */
export interface Journeys {
  app: TestApp
  /** The address of a path of the console. */
  at(path: string): string
  /** A window in which the first developer is signed in. */
  signedIn(t: Test, view?: View): Promise<Window>
  /** A test in which no page may report an error. */
  journey(name: string, work: (t: Test) => Promise<void>): Promise<void>
}

/** Tests in Chromium; skipped by name where there is none. */
export async function inChromium(name: string, work: (t: Test, journeys: Journeys) => Promise<void>): Promise<void> {
  const chromium = await installedChromium()
  await t.test(name, { skip: !chromium && 'no Chromium is installed' }, async (t) => {
    const [engine] = engines()
    if (!chromium || !engine) return
    const app = await startTestApp(t, engine)
    await startImports(t, app)
    const browser = await startBrowser(t, chromium)
    const problems: string[] = []
    const at = (path: string) => `${app.url}/console${path}`
    await work(t, {
      app,
      at,
      async signedIn(t, view = {}) {
        const window = await openWindow(t, { browser, origin: app.url, problems }, view)
        await window.page.goto(at(`#code=${await newConsoleCode(app.db, app.developer.id)}`))
        await window.page.getByRole('heading', { name: 'People' }).waitFor()
        return window
      },
      async journey(name, work) {
        await t.test(name, async (t) => {
          await work(t)
          t.strictSame(problems.splice(0), [], 'no page reported an error')
        })
      },
    })
  })
}

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa']

/** In both themes no violation of WCAG 2.2 A and AA, nothing wider than the window, and a picture to look at. */
export async function readableByAll(t: Test, page: Page, name: string): Promise<void> {
  await page.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  for (const theme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme: theme })
    const own = `${name}-${page.viewportSize()?.width}-${theme}`
    const violations =
      await page.evaluate(`axe.run({ runOnly: ${JSON.stringify(RULES)} }).then(({ violations }) => violations.flatMap(
        ({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + failureSummary)))`)
    t.strictSame(violations, [], own)
    await picture(page, own)
  }
  const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  t.ok(overflow <= 0, `${name} does not scroll sideways (${overflow} px)`)
}

/** Opens the table of a chart, and reads its cells. */
export async function tableOf(page: Page): Promise<string[][]> {
  await page.getByText('As a table').click()
  const rows = page.locator('details table tr')
  await rows.first().waitFor()
  return rows.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)))
}
