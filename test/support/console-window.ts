// Windows of the console for tests: a service, a browser, people who are signed in, and what everybody has to be able to use.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import type { Test } from 'tap'
import { newConsoleCode } from '../../server/api/console/codes.ts'
import type { TestApp } from './app.ts'
import {
  emptyWindows,
  lendWindow,
  openWindow,
  picture,
  sharedBrowser,
  type View,
  visit,
  type Window,
} from './browser.ts'
import { THOROUGH } from './thorough.ts'

/** Text that would do harm if it were markup, or turn a line around. */
export const HOSTILE = '<img src=x onerror=alert(1)> \u202Eslrig '.padEnd(100, 'x')

/** The console of a service in a browser. */
export interface ConsoleWindows {
  /** An address of the console. */
  at(path: string): string
  /** A test in which no page may report an error. */
  journey(name: string, work: (t: Test) => Promise<void>): Promise<unknown>
  /** A window in which nobody is signed in; tests use one after the other. */
  open(t: Test, view?: View): Promise<Window>
  /** A window whose developer is signed in, at the list of people; tests use one after the other. */
  signedIn(t: Test, view?: View): Promise<Window>
  /** Looks at screens at both widths, in `themesAt` each, by name: each function brings one about. */
  everywhere(t: Test, screens: Readonly<Record<string, (page: Page) => Promise<unknown>>>): Promise<void>
}

/** Opens the console of a service in the installed Chromium. */
export async function openConsoleWindows(t: Test, app: TestApp, chromium: string): Promise<ConsoleWindows> {
  const browser: Browser = await sharedBrowser(chromium)
  const problems: string[] = []
  t.teardown(emptyWindows)
  const at = (path: string) => `${app.url}/console${path}`
  const opener = { browser, origin: app.url, problems }
  const open = (t: Test, view: View = {}): Promise<Window> =>
    view.isOwn ? openWindow(t, opener, view) : lendWindow(t, opener, view)
  const signedIn = async (t: Test, view: View = {}) => {
    const window = view.isOwn
      ? { ...(await open(t, view)), signedInAt: undefined }
      : await lendWindow(t, opener, { ...view, keepSession: true })
    const { page, signedInAt } = window
    if (signedInAt) await visit(page, at('/people'))
    else await page.goto(at(`#code=${await newConsoleCode(app.db, app.developer.id)}`))
    await page.getByRole('heading', { name: 'People' }).waitFor()
    window.signedInAt = app.url
    return window
  }
  return {
    ...{ at, open, signedIn },
    journey: (name, work) =>
      t.test(name, async (t) => {
        await work(t)
        t.strictSame(problems.splice(0), [], 'no page reported an error')
      }),
    async everywhere(t, screens) {
      for (const width of [390, 1280]) {
        const { page } = await signedIn(t, { width })
        for (const [name, show] of Object.entries(screens)) {
          await show(page)
          for (const colorScheme of themesAt(width)) {
            await page.emulateMedia({ colorScheme })
            await inspect(t, page, `${name}-${width}-${colorScheme}`)
          }
        }
      }
    },
  }
}

/** Both themes with `npm run test:long`, otherwise each at one of the widths. */
export const themesAt = (width: number): readonly ('light' | 'dark')[] =>
  THOROUGH ? ['light', 'dark'] : [width < 600 ? 'dark' : 'light']

let axeSource: Promise<string> | undefined

function axe(): Promise<string> {
  axeSource ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  return axeSource
}

/** No violation of WCAG 2.2 A and AA, nothing wider than the window, and a picture to look at. */
export async function inspect(t: Test, page: Page, name: string): Promise<void> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(await axe())
  const violations = await page.evaluate(`(async () => {
    const runOnly = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa']
    const { violations } = await axe.run({ runOnly })
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary),
    )
  })()`)
  t.strictSame(violations, [], name)
  const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  t.ok(overflow <= 0, `${name} does not scroll sideways (${overflow} px)`)
  await picture(page, name)
}
