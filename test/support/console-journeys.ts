// Journeys through the console: one service and one browser for the tests of a file.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startTestApp, type TestApp } from './app.ts'
import { installedChromium } from './browser.ts'
import { type ConsoleWindows, openConsoleWindows } from './console-window.ts'
import { startImports } from './sdk.ts'
import { engines } from './servers.ts'

/** Tests in Chromium, with a service and its console; skipped by name where there is none. */
export async function inChromium(
  name: string,
  work: (t: Test, journeys: ConsoleWindows & { app: TestApp }) => Promise<void>,
): Promise<void> {
  const chromium = await installedChromium()
  await t.test(name, { skip: !chromium && 'no Chromium is installed' }, async (t) => {
    const [engine] = engines()
    if (!chromium || !engine) return
    const app = await startTestApp(t, engine)
    await startImports(t, app)
    await work(t, { app, ...(await openConsoleWindows(t, app, chromium)) })
  })
}

/** Opens the table of a chart, and reads its cells. */
export async function tableOf(page: Page): Promise<string[][]> {
  await page.getByText('As a table').click()
  const rows = page.locator('details table tr')
  await rows.first().waitFor()
  return rows.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)))
}
