import { useEffect, useRef, useState } from 'preact/hooks'
import { answered, api, type Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { address, go, query } from '../router.ts'
import { lazy } from '../ui/lazy.tsx'
import { nameOf } from '../ui/person.ts'
import { Empty, Shown } from '../ui/states.tsx'
import { useTitle } from '../ui/title.ts'
import { When } from '../ui/when.tsx'
import { words } from '../ui/words.ts'

const Demo = lazy(async () => (await import('../admin.ts')).Demo)
const First = lazy(async () => (await import('../admin.ts')).First)

const isDemo = (user: Schemas['User']) => user.external_user_id?.startsWith('demo:') ?? false

const PAGE = 50
const TYPING_MS = 200

type Sort = 'name' | 'last_synced_at' | 'created_at'
type Order = 'asc' | 'desc'

/** The filters of the list, as the address holds them. */
interface Filters {
  search: string
  sort: Sort
  order: Order
  page: number
}

function filtersOf(params: URLSearchParams): Filters {
  const sort = params.get('sort') as Sort
  const known = ['name', 'last_synced_at', 'created_at'].includes(sort)
  return {
    search: params.get('search') ?? '',
    sort: known ? sort : 'last_synced_at',
    order: params.get('order') === 'asc' ? 'asc' : 'desc',
    page: Math.max(1, Math.trunc(Number(params.get('page'))) || 1),
  }
}

function show(filters: Filters): void {
  const params = new URLSearchParams()
  if (filters.search) params.set('search', filters.search)
  if (filters.sort !== 'last_synced_at') params.set('sort', filters.sort)
  if (filters.order !== 'desc') params.set('order', filters.order)
  if (filters.page > 1) params.set('page', String(filters.page))
  const text = params.toString()
  go(`/people${text && `?${text}`}`, true)
}

/** Everybody whose data is stored, newest upload first. */
export function People() {
  const filters = filtersOf(query.value)
  useTitle(filters.page > 1 ? `People, page ${filters.page}` : 'People')
  const users = useQuery(`people ${query.value}`, (signal) => listed(filters, signal))
  return (
    <>
      <header class="bar">
        <h1>People</h1>
        <Search filters={filters} />
        <a class="act" href="/console/people/new">
          New person
        </a>
      </header>
      <Shown query={users} what="people">
        {(page) => (
          <>
            {page.items.length > 0 ? <Table page={page} filters={filters} /> : <Nobody page={page} filters={filters} />}
            {page.items.some(isDemo) && (
              <section class="quiet">
                <p>Some of these people are invented: demo data.</p>
                <Demo changed={users.again} />
              </section>
            )}
          </>
        )}
      </Shown>
    </>
  )
}

async function listed({ search, sort, order, page }: Filters, signal: AbortSignal) {
  const include = ['connections' as const, 'data' as const]
  const ask = (own: { search?: string; external_user_id?: string }) => {
    const query = { sort_by: sort, sort_order: order, page, limit: PAGE, include, ...own }
    return answered(api.GET('/api/v1/users', { params: { query }, signal }))
  }
  const found = await ask(search ? { search } : {})
  // A search knows names and email addresses, but not what others call a person.
  return search && found.total === 0 ? ask({ external_user_id: search }) : found
}

function Search({ filters }: { filters: Filters }) {
  const box = useRef<HTMLInputElement>(null)
  const [timer, setTimer] = useState<ReturnType<typeof setTimeout>>()
  // The address may change without typing: back, or a link.
  useEffect(() => {
    if (box.current && box.current.value.trim() !== filters.search) box.current.value = filters.search
  }, [filters.search])
  const typed = (event: Event) => {
    const search = (event.currentTarget as HTMLInputElement).value.trim()
    clearTimeout(timer)
    setTimer(
      setTimeout(() => {
        if (address.value === '/people') show({ ...filters, search, page: 1 })
      }, TYPING_MS),
    )
  }
  return (
    <label class="search">
      <span class="hidden">Search people</span>
      <input ref={box} type="search" placeholder="Name, email or id" defaultValue={filters.search} onInput={typed} />
    </label>
  )
}

function Nobody({ page, filters }: { page: Schemas['UserPage']; filters: Filters }) {
  if (page.total > 0) {
    return (
      <Empty>
        <p>There is no page {filters.page}.</p>
        <button type="button" onClick={() => show({ ...filters, page: page.pages })}>
          Page {page.pages}, the last one
        </button>
      </Empty>
    )
  }
  return filters.search ? <Empty>Nobody is called “{filters.search}”.</Empty> : <First />
}

function Table({ page, filters }: { page: Schemas['UserPage']; filters: Filters }) {
  return (
    <>
      <table class="people">
        <thead>
          <tr>
            <Column sort="name" filters={filters}>
              Name
            </Column>
            <th scope="col">Connections</th>
            <Column sort="last_synced_at" filters={filters}>
              Last upload
            </Column>
          </tr>
        </thead>
        <tbody>
          {page.items.map((user) => (
            <Row key={user.id} user={user} />
          ))}
        </tbody>
      </table>
      <Pages page={page} filters={filters} />
    </>
  )
}

function Column({ sort, filters, children }: { sort: Sort; filters: Filters; children: string }) {
  const active = filters.sort === sort
  const direction = active ? (filters.order === 'asc' ? 'ascending' : 'descending') : 'none'
  const order = active && filters.order === 'asc' ? 'desc' : active || sort === 'name' ? 'asc' : 'desc'
  return (
    <th scope="col" aria-sort={direction}>
      <button type="button" class="plain" onClick={() => show({ ...filters, sort, order, page: 1 })}>
        {children}
      </button>
    </th>
  )
}

function Row({ user }: { user: Schemas['User'] }) {
  return (
    <tr>
      <th scope="row">
        <a class="clamped" href={`/console/people/${user.id}`} dir="auto">
          {nameOf(user)}
        </a>
      </th>
      <td>
        {(user.connections ?? []).map(({ provider, status }) => (
          <span key={provider} class={`tag ${status}`}>
            {words(provider)}
            {status !== 'active' && ` (${status})`}
          </span>
        ))}
        {user.connections?.length === 0 && <span class="quiet">none</span>}
      </td>
      <td>
        <When at={user.last_synced_at} />
        <Month days={user.recent_days ?? []} last={user.last_day} />
      </td>
    </tr>
  )
}

const DAY_MS = 86_400_000

/** How much there is of each of the last 30 days, and since when there is nothing. */
function Month({ days, last }: { days: readonly number[]; last: string | null | undefined }) {
  if (!last) return null
  const most = Math.max(...days)
  const bars = days.map((count, at) => (count > 0 ? `M${at} 10v-${1 + (9 * count) / most}h.8V10` : '')).join('')
  // Whole days of UTC, as the last day is: neither that one nor today.
  const silent = Math.floor((Date.now() - Date.parse(last)) / DAY_MS) - 1
  return (
    <div class="quiet">
      <svg class="spark" viewBox="0 0 30 10" preserveAspectRatio="none" role="img">
        <title>Data on {days.filter((count) => count > 0).length} of the last 30 days</title>
        <path d={bars} />
      </svg>
      {silent > 1 && ` nothing for ${silent} days`}
    </div>
  )
}

function Pages({ page, filters }: { page: Schemas['UserPage']; filters: Filters }) {
  if (page.pages < 2) return null
  const to = (number: number) => () => show({ ...filters, page: number })
  return (
    <nav class="pages" aria-label="Pages">
      <button type="button" disabled={!page.has_prev} onClick={to(page.page - 1)}>
        Previous
      </button>
      <span>
        {page.page} of {page.pages} · {page.total} people
      </span>
      <button type="button" disabled={!page.has_next} onClick={to(page.page + 1)}>
        Next
      </button>
    </nav>
  )
}
