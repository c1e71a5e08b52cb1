// An installed Chromium for the tests of the console. Whatever a page reports as an error fails its test.
import { access, mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { THOROUGH } from './thorough.ts'

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
]
const PICTURES = fileURLToPath(new URL('../../.tap/console/', import.meta.url))

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

/** The Chromium of this machine: `CHROMIUM`, or in one of the usual places; undefined where there is none. */
export async function installedChromium(): Promise<string | undefined> {
  for (const path of [process.env.CHROMIUM ?? '', ...PLACES]) if (path && (await exists(path))) return path
  return undefined
}

/** A browser that ends with the test. */
export async function startBrowser(t: Test, executablePath: string): Promise<Browser> {
  const browser = await chromium.launch({ executablePath })
  t.teardown(() => browser.close())
  return browser
}

/** How a page is shown. */
export interface View {
  width?: number
  dark?: boolean
  /** Reports that the test causes on purpose. */
  expected?: RegExp
}

/** What opens windows of a service, and where they report errors, and requests to anybody else. */
interface Opener {
  browser: Browser
  origin: string
  problems: string[]
}

/** A browser's own cookies and pages. */
export interface Window {
  context: BrowserContext
  page: Page
}

/** Opens a page at 390 or more pixels, in either theme; whatever is wrong is added to `problems`. */
export async function openWindow(t: Test, { browser, origin, problems }: Opener, view: View): Promise<Window> {
  const { width = 1280, dark = false, expected } = view
  const context = await browser.newContext({
    viewport: { width, height: width < 600 ? 844 : 900 },
    colorScheme: dark ? 'dark' : 'light',
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
    hasTouch: width < 600,
  })
  const note = (text: string) => {
    if (!expected?.test(text)) problems.push(text)
  }
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) note(message.text())
  })
  context.on('weberror', (error) => note(String(error.error())))
  context.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(`${origin}/`) && !url.startsWith('data:')) note(`a request to ${url}`)
  })
  const report =
    "addEventListener('securitypolicyviolation', (event) => console.error('CSP: ' + event.violatedDirective))"
  await context.addInitScript(report)
  t.teardown(() => context.close())
  return { context, page: await context.newPage() }
}

/** Keeps a picture of all of a page, to be looked at, in `.tap/console`: with `npm run test:long`, or TEST_PICTURES. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!THOROUGH && !process.env.TEST_PICTURES) return
  await mkdir(PICTURES, { recursive: true })
  await page.screenshot({ path: `${PICTURES}${name}.png`, fullPage: true })
}
