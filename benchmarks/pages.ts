import { type Selection as PageSelection, type Position, readRows } from '../server/api/timeseries/page.ts'
import { type Database, openDatabase } from '../server/db/database.ts'
import { type UserView, userView } from '../server/sources/user-view.ts'
import type { Request } from './requests.ts'
import type { Service, Statement } from './service.ts'

/** Half-open range of time, Unix seconds. */
export interface Window {
  start: number
  end: number
}

/** A page requested with a cursor: the request, and the statement that answers it. */
export interface CursorPage extends Request {
  etag: string
  statement: Statement | undefined
}

interface Walk {
  userId: string
  /** Undefined: all series types. */
  type?: string
  limit: number
  windows: readonly Window[]
  /** Maximum of pages per window. */
  pages: number
}

interface Envelope {
  data: { timestamp: string }[]
  pagination: { next_cursor: string | null }
}

/** The request of the first page of a window, which counts all of its samples. */
export function firstPage(service: Service, { userId, type, limit }: Omit<Walk, 'windows' | 'pages'>, window: Window) {
  const types = type === undefined ? '' : `&types=${type}`
  const path = `/api/v1/users/${userId}/timeseries?limit=${limit}${types}&start_time=${window.start}&end_time=${window.end}`
  return { path, headers: service.headers }
}

/**
 * Walks windows by `next_cursor` and returns all pages but the first ones. A cursor carries the total of its first
 * page, so these pages read samples and count nothing; they can be requested again, in any order.
 */
export async function walkPages(service: Service, databaseUrl: string, walk: Walk): Promise<CursorPage[]> {
  const db = openDatabase({
    url: databaseUrl,
    name: 'pulsebase benchmark',
    maxConnections: 1,
    statementTimeoutMs: 60_000,
    onError: () => {},
  })
  try {
    const view = await userView(db, walk.userId)
    const wanted = view.stored.filter(({ series }) => walk.type === undefined || series.type === walk.type)
    const pages: CursorPage[] = []
    for (const window of walk.windows) {
      const selection: PageSelection = {
        stored: wanted,
        startMs: window.start * 1000,
        endMs: window.end * 1000,
        bucketMs: undefined,
        ranges: undefined,
      }
      const first = firstPage(service, walk, window)
      let { body } = await get(service, first)
      for (let page = 0; page < walk.pages && body.pagination.next_cursor; page += 1) {
        const statement = await statementBehind(view, selection, body, walk.limit)
        const request = {
          path: `${first.path}&cursor=${encodeURIComponent(body.pagination.next_cursor)}`,
          headers: service.headers,
        }
        const answer = await get(service, request)
        pages.push({ ...request, etag: answer.etag, statement })
        body = answer.body
      }
    }
    if (pages.length === 0) throw new Error('the windows hold no second page')
    return pages
  } finally {
    await db.end()
  }
}

async function get(service: Service, { path, headers }: Request): Promise<{ body: Envelope; etag: string }> {
  const answer = await fetch(service.origin + path, { headers })
  if (answer.status !== 200) throw new Error(`GET ${path} was answered ${answer.status}: ${await answer.text()}`)
  return { body: (await answer.json()) as Envelope, etag: answer.headers.get('etag') ?? '' }
}

/**
 * The statement the API runs for the page after `body`, taken from its own code by a database that only listens;
 * undefined with several series, since the last row alone does not determine the position.
 */
async function statementBehind(
  view: UserView,
  selection: PageSelection,
  body: Envelope,
  limit: number,
): Promise<Statement | undefined> {
  const [only, ...others] = selection.stored
  const last = body.data.at(-1)
  if (!only || others.length > 0 || !last) return undefined
  const timeMs = Date.parse(last.timestamp)
  const position: Position = { timeMs, seriesId: only.seriesId, sourceId: only.source.id, backward: false, total: 0 }
  let heard: Statement | undefined
  const listener = {
    columns: async (text: string, values: unknown[]) => {
      heard = { name: 'page', text, values, rowMode: 'array' }
      return [[], [], [], [], []]
    },
  }
  // One row more than the page shows whether there is another page.
  await readRows(listener as unknown as Database, selection, { position, limit: limit + 1, asOf: view })
  return heard
}
