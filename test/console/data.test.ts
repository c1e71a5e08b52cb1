// What arrived of a person, in a real browser: each reason for an empty day, provoked by uploads.

import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { archive } from '../../server/rollups/archive.ts'
import type { TestApp } from '../support/app.ts'
import { visit } from '../support/browser.ts'
import { inChromium } from '../support/console-journeys.ts'
import { HOSTILE } from '../support/console-window.ts'
import { body, createUser, heartRate, importBody, PHONE, record, steps } from '../support/sdk.ts'

const DAY = 86_400_000
const HOUR = 3_600_000
const BERLIN = { zoneOffset: '+01:00' }
const APPLE = 'HKQuantityTypeIdentifierHeartRate'

/** Noon in Berlin, some days ago; its day, which the calendar ends with, begins an hour before that of UTC. */
const ago = (days: number) => Math.floor((Date.now() + HOUR) / DAY) * DAY + 11 * HOUR - days * DAY
const date = (days: number) => new Date(ago(days)).toISOString().slice(0, 10)
const text = (days: number, format: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...format }).format(ago(days))
const long = (days: number) => text(days, { dateStyle: 'full' })
const short = (days: number) => text(days, { day: 'numeric', month: 'short' })

/** Stores a person whose days are empty for every reason there is, and moves the uploads to the days they stand for. */
async function storeGaps(app: TestApp): Promise<string> {
  const user = await createUser(app)
  const usual = Array.from({ length: 30 }, (_, index) => index + 11)
  const uploads: [arrived: number, records: unknown[], deleted?: unknown[]][] = [
    [10, [heartRate(ago(300), 60, BERLIN), heartRate(ago(200), 61, BERLIN)]],
    [10, usual.flatMap((days) => [heartRate(ago(days), 62, BERLIN), steps(ago(days), 100, BERLIN)])],
    [9, [steps(ago(9), 100, BERLIN)]],
    [8, [heartRate(ago(8), null, BERLIN), heartRate(ago(8) + 1000, null, BERLIN)]],
    [7, [heartRate(ago(7), 63, { ...BERLIN, id: 'gone' })]],
    [7, [], [{ id: 'gone', type: APPLE }]],
    [6, [record('heart_rate', ago(6), 64, BERLIN), record(HOSTILE, ago(6), 1, BERLIN)]],
    [5, []],
    [2, [heartRate(ago(2), 65, BERLIN), steps(ago(2), 100, { ...BERLIN, source: PHONE })]],
  ]
  for (const [, records, deleted = []] of uploads) await importBody(app, user, body([], { data: { records, deleted } }))
  const rows = await app.db.query<{ id: string }>('select id from upload where user_id = $1 order by seq', [user])
  for (const [index, { id }] of rows.entries()) {
    const arrived = new Date(ago(uploads[index]?.[0] ?? 0) + HOUR)
    await app.db.query('update upload set received_at = $2 where id = $1', [id, arrived.toISOString()])
  }
  const kept = { archive_after_days: 60, delete_after_days: 250 }
  await app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: kept })
  while (await archive(app.db, Date.now(), () => {}));
  return user
}

/** Each day, and what must be said of it. */
const FINDINGS: readonly [days: number, kind: string, sentence: string | RegExp][] = [
  [-2, 'future', 'This day has not come yet.'],
  [310, 'before', `Nothing was sent of days before ${long(300)}.`],
  [1, 'after', `The last upload came on ${long(2)}, `],
  [200, 'archived', 'Archived: hours and days are there, single samples are not.'],
  [290, 'expired', /^Too long ago: nothing from before .* is kept\.$/],
  [8, 'rejected', '2 came, none could be stored: no value (2).'],
  [7, 'deleted', '1 came and were deleted later, by the phone or here.'],
  [6, 'ignored', `1 item was not stored, of the type heart_rate: Apple calls it ${APPLE}.`],
  [9, 'others', 'The phone sent 1 other type for this day: the device was not worn, or the permission for this one'],
  [5, 'touched', 'The phone was in touch (1 upload) but had measured nothing.'],
  [4, 'silent', `Nothing came from the phone between ${short(4)} and ${short(3)}.`],
]

const finding = (page: Page, kind: string) => page.locator(`[data-finding="${kind}"]`)

async function says(t: Test, page: Page, [days, kind, sentence]: (typeof FINDINGS)[number]): Promise<void> {
  await finding(page, kind).waitFor()
  const said = ((await finding(page, kind).textContent()) ?? '').replace(/^Heart rate: /, '')
  if (typeof sentence === 'string') t.ok(said.startsWith(sentence), `${days} days ago: ${said}`)
  else t.match(said.replace(/ Connect again$| Uploads$| The month$/, '').trim(), sentence)
}

await inChromium('what arrived', async (_, { app, at, signedIn, journey, everywhere }) => {
  const ada = await storeGaps(app)
  const nobody = await createUser(app)

  await journey('each reason for an empty day has its sentence', async (t) => {
    const { page } = await signedIn(t)
    for (const one of FINDINGS) {
      if (one[1] === 'archived') continue
      await visit(page, at(`/people/${ada}/data?day=${date(one[0])}`))
      await says(t, page, one)
    }
    await visit(page, at(`/people/${ada}/data?day=${date(2)}`))
    await page.getByText('Everything that is usual is there.', { exact: true }).waitFor()
    await visit(page, at(`/people/${ada}/data?day=${date(6)}`))
    await page.getByText(`1 of ${HOSTILE}: ignored type`).waitFor()
    t.equal(await page.locator('img').count(), 0, 'a type is text, whatever it is called')
    await visit(page, at(`/people/${nobody}/data?day=${date(6)}`))
    await says(t, page, [6, 'never', 'This person has never sent anything.'])
  })

  await journey('a day and a night without anything say the same', async (t) => {
    const { page } = await signedIn(t)
    for (const one of FINDINGS) {
      if (one[1] === 'others') continue
      await visit(page, at(`/people/${ada}/day/${date(one[0])}`))
      await says(t, page, one)
    }
    await visit(page, at(`/people/${ada}/night/${date(9)}`))
    await says(t, page, FINDINGS.find(([, kind]) => kind === 'others') ?? [0, '', ''])
    await page.getByRole('link', { name: 'What arrived around this day' }).click()
    await page.waitForURL(new RegExp(`/data\\?day=${date(9)}$`))
    await visit(page, at(`/people/${ada}/day/${date(4)}`))
    await page.getByRole('link', { name: /^Newest day with data/ }).click()
    await page.waitForURL(new RegExp(`/day/${date(2)}$`))
  })

  await journey('the keyboard finds a day in the calendar and in the rows of types', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, at(`/people/${ada}/day/${date(2)}`))
    await page.locator('[data-chart="Day"]').waitFor()
    await page.keyboard.press('c')
    const calendar = page.locator('[data-chart="Coverage"]')
    await calendar.waitFor()
    await calendar.focus()
    for (let day = 0; day < 8; day += 1) await page.keyboard.press('ArrowUp')
    t.match(await calendar.getAttribute('aria-valuetext'), `${long(7)}: 1 came, nothing of it is there any longer`)
    await page.keyboard.press('ArrowUp')
    t.match(await calendar.getAttribute('aria-valuetext'), /: 2 came, none could be stored$/)
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`day=${date(8)}$`))
    await finding(page, 'rejected').waitFor()
    // The focus follows once the finding is shown.
    const focused = () => page.evaluate<string>('document.activeElement.textContent')
    t.ok(await waitUntil(async () => (await focused()) === long(8), 10_000, 20), 'the day has the focus')
    const types = page.locator('[data-chart="Types"]')
    await types.focus()
    for (let day = 0; day < 10; day += 1) await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`day=${date(9)}$`))
  })

  await journey('the sources, the one that counts first on top', async (t) => {
    const { page } = await signedIn(t)
    await visit(page, at(`/people/${ada}/sources`))
    const sources = page.locator('.source')
    await sources.first().waitFor()
    const said = await sources.allTextContents()
    t.match(
      said[0],
      `Apple Watch Ultra 2Watch of Ada · Watch · Apple${date(200)} to ${date(2)} (UTC)Counts first for: Heart rate, Steps`,
    )
    t.match(said[1], /^iPhone 16 ProPhone of Ada · Phone · Apple[-0-9 to]* \(UTC\)Steps 1$/)
    await visit(page, at(`/people/${nobody}/sources`))
    await page.getByText('Nothing was ever sent of this person.').waitFor()
  })

  await journey('is readable for everybody, at every width and in both themes', async (t) => {
    const data = async (page: Page) => {
      await visit(page, at(`/people/${ada}/data?day=${date(8)}`))
      await finding(page, 'rejected').waitFor()
    }
    const sources = async (page: Page) => {
      await visit(page, at(`/people/${ada}/sources`))
      await page.locator('.source').first().waitFor()
    }
    await everywhere(t, { data, sources })
  })
})
