// An installed Chromium for the tests of the console. Whatever a page reports as an error fails its test.
import { access, mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import root, { type Test } from 'tap'
import { THOROUGH } from './thorough.ts'

/** The first one draws no window around a page, which takes a seventh of the processor time of the tests. */
const PLACES = [
  '/usr/bin/chromium-headless-shell',
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

let browser: Promise<Browser> | undefined

/** The browser of this process, which ends with it: each test has windows of its own. */
export function sharedBrowser(executablePath: string): Promise<Browser> {
  if (!browser) {
    // Without a graphics card the processor plays one, for whatever Debian has Chromium draw with it.
    const started = chromium.launch({ executablePath, args: ['--disable-gpu'] })
    root.teardown(async () => (await started).close())
    browser = started
  }
  return browser
}

/** How a page is shown. */
export interface View {
  width?: number
  dark?: boolean
  /** Reports that the test causes on purpose. */
  expected?: RegExp
  /** Another window than that of the tests before, for whoever changes more of it than the page. */
  isOwn?: boolean
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

/** What a window may ask, and where it reports what is wrong. */
type Reports = Pick<Opener, 'origin' | 'problems'> & Pick<View, 'expected'>

/** Opens a page at 390 or more pixels, in either theme; whatever is wrong is added to `problems`. */
export async function openWindow(t: Test, { browser, ...reports }: Opener, view: View): Promise<Window> {
  const window = await newWindow(browser, view, () => ({ ...reports, ...view }))
  t.teardown(() => window.context.close())
  return window
}

/** A window that tests use one after the other. */
interface Lent extends Window {
  reports: Reports
  /** Of the service whose session it has. */
  signedInAt?: string | undefined
}

const lent = new Map<number, Lent>()

/**
 * A window that was another test's, if there is one of this width: to open one takes four times the
 * processor time of a page. It has no session, except of this service if `keepSession`.
 */
export async function lendWindow(t: Test, opener: Opener, view: View & { keepSession?: boolean }): Promise<Lent> {
  const { width = 1280, dark = false, keepSession = false } = view
  const reports = { ...opener, ...view }
  const before = lent.get(width)
  const window: Lent = before ?? { ...(await newWindow(opener.browser, view, () => window.reports)), reports }
  const { context, page } = window
  lent.set(width, window)
  window.reports = reports
  if (!keepSession || window.signedInAt !== opener.origin) {
    await context.clearCookies()
    window.signedInAt = undefined
  }
  await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' })
  await page.mouse.move(0, 0)
  t.teardown(async () => {
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    if (!(await leaveScreen(page))) await page.goto('about:blank')
  })
  return window
}

/** Leaves the pages of a service that ends. */
export async function emptyWindows(): Promise<void> {
  for (const { page } of lent.values()) await page.goto('about:blank')
}

/** Whether the page shows the console; then it shows an address of which there is nothing, instead of the screen. */
async function leaveScreen(page: Page): Promise<boolean> {
  if (THOROUGH) return false
  return page.evaluate<boolean>(`(async () => {
    if (!document.querySelector('.shell')) return false
    history.replaceState(null, '', '/console/-')
    dispatchEvent(new PopStateEvent('popstate'))
    while (document.querySelector('#content > h1')?.textContent !== 'Nothing is here')
      await new Promise((resolve) => requestAnimationFrame(resolve))
    return true
  })()`)
}

/**
 * Shows another screen of the console as its links do, with nothing in between: to load the page takes three times the
 * processor time. `npm run test:long` loads it.
 */
export async function visit(page: Page, address: string): Promise<void> {
  const isThere = page.url().startsWith(`${new URL(address).origin}/console`) && (await leaveScreen(page))
  if (!isThere) await page.goto(address)
  else
    await page.evaluate(`(() => {
      const link = document.createElement('a')
      link.href = ${JSON.stringify(address)}
      document.body.append(link)
      link.click()
      link.remove()
    })()`)
}

async function newWindow(browser: Browser, view: View, reports: () => Reports): Promise<Window> {
  const { width = 1280, dark = false } = view
  const context = await browser.newContext({
    viewport: { width, height: width < 600 ? 844 : 900 },
    colorScheme: dark ? 'dark' : 'light',
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
    hasTouch: width < 600,
  })
  const note = (text: string) => {
    const { problems, expected } = reports()
    if (!expected?.test(text)) problems.push(text)
  }
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) note(message.text())
  })
  context.on('weberror', (error) => note(String(error.error())))
  context.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(`${reports().origin}/`) && !url.startsWith('data:')) note(`a request to ${url}`)
  })
  const report =
    "addEventListener('securitypolicyviolation', (event) => console.error('CSP: ' + event.violatedDirective))"
  await context.addInitScript(report)
  return { context, page: await context.newPage() }
}

/** Keeps a picture of all of a page, to be looked at, in `.tap/console`: with `npm run test:long`, or TEST_PICTURES. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!THOROUGH && !process.env.TEST_PICTURES) return
  await mkdir(PICTURES, { recursive: true })
  await page.screenshot({ path: `${PICTURES}${name}.png`, fullPage: true })
}
