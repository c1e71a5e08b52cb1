import { useState } from 'preact/hooks'
import { answered, api, type Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { go, query } from '../router.ts'
import { Pager } from '../ui/pager.tsx'
import { nameOf } from '../ui/person.ts'
import { Shown } from '../ui/states.tsx'
import { useTitle } from '../ui/title.ts'
import { STATES } from './runs.tsx'
import { Uploads } from './uploads.tsx'

const STATUSES = ['queued', 'success', 'partial', 'skipped', 'failed'] as const
const BUSY_MS = 2000
/** Most uploads of a page are of people who uploaded lately. */
const LATEST = { limit: 100, sort_by: 'last_synced_at', sort_order: 'desc' } as const

type Status = (typeof STATUSES)[number]

async function read(status: Status | undefined, cursor: string | undefined, signal: AbortSignal) {
  const asked = { ...(status && { status: [status] }), ...(cursor && { cursor }) }
  const request = api.GET('/api/v1/sync/batches', { params: { query: asked }, signal })
  const [uploads, users, providers, { response }] = await Promise.all([
    answered(request),
    answered(api.GET('/api/v1/users', { params: { query: LATEST }, signal })),
    answered(api.GET('/api/v1/oauth/providers', { signal })),
    request,
  ])
  const people = new Map(users.items.map((user) => [user.id, nameOf(user)]))
  const names = new Map(providers.map(({ provider, name }) => [provider, name]))
  return { uploads, people, names, next: response.headers.get('x-next-cursor') }
}

/** The uploads of everybody, by what became of them. */
export function AllUploads() {
  useTitle('Uploads')
  const status = STATUSES.find((one) => one === query.value.get('status'))
  return (
    <>
      <h1>Uploads</h1>
      <p class="buttons">
        {[undefined, ...STATUSES].map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === status}
            onClick={() => go(`/uploads${one ? `?status=${one}` : ''}`, true)}
          >
            {one ? STATES[one] : 'all'}
          </button>
        ))}
      </p>
      <List key={status} status={status} />
    </>
  )
}

function List({ status }: { status: Status | undefined }) {
  const [pages, show] = useState<(string | undefined)[]>([undefined])
  const cursor = pages.at(-1)
  const page = useQuery(
    `uploads ${status} ${cursor}`,
    (signal) => read(status, cursor, signal),
    ({ uploads }) => (uploads.some((one) => one.status === 'queued') ? BUSY_MS : 0),
  )
  return (
    <Shown query={page} what="the uploads">
      {({ uploads, people, names, next }) => (
        <>
          <Uploads
            uploads={uploads}
            nameOf={(provider) => names.get(provider) ?? provider}
            changed={page.again}
            whose={({ user_id: id }: Schemas['UploadBatch']) => (
              <a href={`/console/people/${id}/connections`} dir="auto">
                {people.get(id) ?? id.slice(0, 8)}
              </a>
            )}
          />
          <Pager {...{ pages, next, show }} />
        </>
      )}
    </Shown>
  )
}
