import { useState } from 'preact/hooks'
import { answered, api, type Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { address, go, query } from '../router.ts'
import { ago, nameOf } from '../ui/person.ts'
import { Empty, Shown } from '../ui/states.tsx'
import { useTitle } from '../ui/title.ts'

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
      </header>
      <Shown query={users} what="people">
        {(page) => (page.items.length > 0 ? <Table page={page} filters={filters} /> : <Nobody filters={filters} />)}
      </Shown>
    </>
  )
}

function listed({ search, sort, order, page }: Filters, signal: AbortSignal) {
  const query = { sort_by: sort, sort_order: order, page, limit: PAGE, include: ['connections' as const] }
  return answered(api.GET('/api/v1/users', { params: { query: { ...query, ...(search && { search }) } }, signal }))
}

function Search({ filters }: { filters: Filters }) {
  const [timer, setTimer] = useState<ReturnType<typeof setTimeout>>()
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
      <input type="search" placeholder="Name, email or id" defaultValue={filters.search} onInput={typed} />
    </label>
  )
}

function Nobody({ filters }: { filters: Filters }) {
  if (filters.search) return <Empty>Nobody is called “{filters.search}”.</Empty>
  return (
    <Empty>
      <p>
        <strong>Nothing is stored yet.</strong>
      </p>
      <p>
        A phone or a program creates people and uploads their data: the <a href="/docs">API reference</a> shows every
        call, with a form to try it.
      </p>
    </Empty>
  )
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
            {provider}
            {status !== 'active' && ` (${status})`}
          </span>
        ))}
        {user.connections?.length === 0 && <span class="quiet">none</span>}
      </td>
      <td>
        {user.last_synced_at ? (
          <time dateTime={user.last_synced_at} title={user.last_synced_at}>
            {ago(user.last_synced_at)}
          </time>
        ) : (
          <span class="quiet">never</span>
        )}
      </td>
    </tr>
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
