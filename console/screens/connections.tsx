import { useEffect, useState } from 'preact/hooks'
import { answered, api, type Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { go } from '../router.ts'
import { Confirm, Do, Fields, Opener, Problem } from '../ui/act.tsx'
import { Code } from '../ui/code.tsx'
import { inviting, nameOf } from '../ui/person.ts'
import { Shown } from '../ui/states.tsx'
import { counted, When } from '../ui/when.tsx'
import { Invite } from './invite.tsx'
import { PersonPage } from './person.tsx'
import { Runs } from './runs.tsx'
import { Uploads } from './uploads.tsx'

/** How often is looked again while something goes on, and otherwise. */
const BUSY_MS = 2000
const IDLE_MS = 60_000

/** How the data of a person comes in, and what became of it. */
export function Connections({ id }: { id: string }) {
  return (
    <PersonPage id={id} view="connections">
      {(user) => <Loaded key={id} user={user} />}
    </PersonPage>
  )
}

const connectionsOf = (id: string, signal: AbortSignal) =>
  answered(api.GET('/api/v1/users/{user_id}/connections', { params: { path: { user_id: id } }, signal }))

async function readAll(id: string, signal: AbortSignal) {
  const path = { user_id: id }
  const [connections, runs, uploads, providers] = await Promise.all([
    connectionsOf(id, signal),
    answered(api.GET('/api/v1/users/{user_id}/sync/runs', { params: { path }, signal })),
    answered(api.GET('/api/v1/sdk/users/{user_id}/sync/batches', { params: { path }, signal })),
    answered(api.GET('/api/v1/oauth/providers', { signal })),
  ])
  const names = new Map(providers.map(({ provider, name }) => [provider, name]))
  const clouds = providers.filter((one) => one.has_cloud_api && one.has_connector && one.is_enabled)
  const hasApi = new Set(providers.filter((one) => one.has_cloud_api).map(({ provider }) => provider))
  return {
    ...{ connections, runs, uploads, clouds },
    nameOf: (provider: string) => names.get(provider) ?? provider,
    isCloud: (provider: string) => hasApi.has(provider),
  }
}

type All = Awaited<ReturnType<typeof readAll>>

const isBusy = ({ runs, uploads }: All) =>
  runs.some(({ status }) => status === 'in_progress') || uploads.some(({ status }) => status === 'queued')

function Loaded({ user }: { user: Schemas['UserDetail'] }) {
  const [by, invite] = useState(inviting.value)
  useEffect(() => {
    inviting.value = undefined
  }, [])
  const query = useQuery(
    `connections ${user.id}`,
    (signal) => readAll(user.id, signal),
    (all) => (isBusy(all) ? BUSY_MS : IDLE_MS),
  )
  const arrived = () => {
    invite(undefined)
    if (user.last_synced_at) query.again()
    else go(`/people/${user.id}`, true)
  }
  return (
    <>
      <Shown query={query} what="the connections">
        {(all) => <Everything {...{ user, all, invite }} changed={query.again} />}
      </Shown>
      {by && <Invite {...{ user, by, arrived }} onClose={() => invite(undefined)} />}
    </>
  )
}

interface EverythingProps {
  user: Schemas['UserDetail']
  all: All
  invite(by: 'phone' | 'curl'): void
  changed(): void
}

function Everything({ user, all, invite, changed }: EverythingProps) {
  return (
    <>
      <ul class="items">
        {all.connections.map((one) => (
          <Connection key={one.id} {...{ user, one, all, changed }} />
        ))}
        {all.connections.length === 0 && <li>Nothing is connected yet.</li>}
      </ul>
      <p class="buttons">
        <button type="button" onClick={() => invite('phone')}>
          Connect a phone
        </button>
        <Opener button="Connect a provider" title="Connect a provider">
          {(close) => <Provider {...{ user, all, close, changed }} />}
        </Opener>
        <button type="button" onClick={() => invite('curl')}>
          Upload with curl
        </button>
      </p>
      <Runs runs={all.runs} nameOf={all.nameOf} />
      <section>
        <h2>Uploads</h2>
        <Uploads uploads={all.uploads} nameOf={all.nameOf} changed={changed} />
      </section>
      <Removal user={user} />
    </>
  )
}

function Removal({ user }: { user: Schemas['UserDetail'] }) {
  const remove = async () => {
    await answered(api.DELETE('/api/v1/users/{user_id}', { params: { path: { user_id: user.id } } }))
    go('/people', true)
  }
  return (
    <section>
      <h2>Delete the person</h2>
      <Confirm button="Delete everything" title="Delete the person" word={nameOf(user)} work={remove}>
        <p>
          Everything stored about them goes for good: name, connections, samples, nights, workouts, meals, scores and
          stored uploads. Their phones are signed out, and providers are asked to end the access.
        </p>
      </Confirm>
    </section>
  )
}

interface ConnectionProps {
  user: Schemas['UserDetail']
  one: Schemas['Connection']
  all: All
  changed(): void
}

function Connection({ user, one, all, changed }: ConnectionProps) {
  const { provider, status } = one
  const name = all.nameOf(provider)
  const isCloud = all.isCloud(provider)
  const isEnabled = all.clouds.some((cloud) => cloud.provider === provider)
  const isActive = status === 'active'
  const params = { path: { user_id: user.id, provider: provider as 'oura' } }
  const end = async () => {
    await answered(api.DELETE('/api/v1/users/{user_id}/connections/{provider}', { params }))
    changed()
  }
  const purge = async () => {
    await answered(api.DELETE('/api/v1/users/{user_id}/connections/{provider}/data', { params }))
    changed()
  }
  const others = one.linked_user_ids.length
  return (
    <li data-connection={provider}>
      <div>
        <strong>{name}</strong> <span class={`tag ${status}`}>{isActive ? 'active' : 'ended'}</span>
        <div class="quiet">
          last data: <When at={one.last_synced_at} />
          {one.provider_username && <span dir="auto"> · {one.provider_username}</span>}
          {others > 0 &&
            ` · the same account is connected to ${counted(others, 'other person').replace('persons', 'people')}`}
        </div>
      </div>
      <Consent {...{ user, one, all, changed, isEnabled }} />
      <div class="wide buttons">
        {isEnabled && isActive && <Fetching {...{ one, changed }} />}
        {isActive && (
          <Confirm button="Disconnect" title={`Disconnect ${name}`} work={end}>
            <p>
              Nothing more comes from {name}. What is stored stays.
              {isCloud && ' The provider is asked to end the access.'}
            </p>
          </Confirm>
        )}
        <Confirm button="Delete its data" title={`Delete the data of ${name}`} word={nameOf(user)} work={purge}>
          <p>
            All that came from {name} goes for good: samples, nights, workouts, devices, stored uploads, their history,
            and what was deleted before is forgotten. The connection ends; a phone that uploads again opens it.
          </p>
        </Confirm>
      </div>
    </li>
  )
}

/** What the person has to allow again, and the way there. */
function Consent({ user, one, all, changed, isEnabled }: ConnectionProps & { isEnabled: boolean }) {
  const { provider, status, failing_streams: failing } = one
  const name = all.nameOf(provider)
  if (status === 'active' && failing.length === 0) return null
  if (!all.isCloud(provider))
    return <p class="wide warn">It opens again with the next upload: connect the phone anew.</p>
  return (
    <div class="wide warn">
      <p>
        {status === 'active'
          ? `${name} gives no ${failing.join(', ')}: not allowed, or refused for days. A new consent may change it.`
          : `${name} needs a new consent: the access has ended.`}
      </p>
      {isEnabled ? (
        <Opener button="Ask for a new consent" title={`Connect ${name}`}>
          {(close) => <Link {...{ user, provider, name, close, changed }} />}
        </Opener>
      ) : (
        <p>{name} is switched off in this service.</p>
      )}
    </div>
  )
}

function Fetching({ one, changed }: Pick<ConnectionProps, 'one' | 'changed'>) {
  const path = { provider: one.provider as 'oura', user_id: one.user_id }
  const now = async () => {
    await answered(api.POST('/api/v1/providers/{provider}/users/{user_id}/sync', { params: { path } }))
    changed()
  }
  return (
    <>
      {one.rest_pull && <Do work={now}>Sync now</Do>}
      <Opener button="Fetch the past" title="Fetch the past">
        {(close) => (
          <Fields
            button="Fetch"
            fields={[
              { name: 'days', label: 'Days', type: 'number', value: '90', min: '1', max: '365', required: true },
            ]}
            submit={async ({ days }) => {
              const params = { path, query: { days: Number(days) } }
              await answered(api.POST('/api/v1/providers/{provider}/users/{user_id}/sync/historical', { params }))
              close()
              changed()
            }}
          />
        )}
      </Opener>
    </>
  )
}

interface ProviderProps extends Pick<ConnectionProps, 'user' | 'all' | 'changed'> {
  close(): void
}

function Provider({ user, all, close, changed }: ProviderProps) {
  const [provider, choose] = useState<string>()
  if (provider) return <Link {...{ user, provider, close, changed }} name={all.nameOf(provider)} />
  if (all.clouds.length === 0) {
    return (
      <p>
        No provider is enabled. <code>PUT /api/v1/oauth/providers</code> enables one.
      </p>
    )
  }
  return (
    <div class="buttons">
      {all.clouds.map((one) => (
        <button key={one.provider} type="button" onClick={() => choose(one.provider)}>
          {one.name}
        </button>
      ))}
    </div>
  )
}

interface LinkProps {
  user: Schemas['UserDetail']
  provider: string
  name: string
  close(): void
  changed(): void
}

/** A link by which the person connects a provider; waits until that is done. */
function Link({ user, provider, name, close, changed }: LinkProps) {
  const link = useQuery(`link ${user.id} ${provider}`, async (signal) => {
    const [path, body] = [{ user_id: user.id }, { provider: provider as 'oura' }]
    return answered(api.POST('/api/v1/users/{user_id}/link-tokens', { params: { path }, body, signal }))
  })
  const [before, setBefore] = useState<string>()
  const now = useQuery(
    `linked ${user.id} ${provider}`,
    async (signal) => {
      const found = (await connectionsOf(user.id, signal)).find((one) => one.provider === provider)
      return `${found?.status} ${found?.scope} ${found?.failing_streams}`
    },
    () => BUSY_MS,
  )
  useEffect(() => {
    if (before === undefined) setBefore(now.data)
    else if (now.data?.startsWith('active') && now.data !== before) {
      changed()
      close()
    }
  }, [now.data])
  return (
    <>
      {link.failure ? (
        <p>
          <Problem text={link.failure.message} /> On the machine of the service, <code>npm run providers</code> says
          what is missing.
        </p>
      ) : (
        link.data && (
          <>
            <p>
              The person opens this link, once and within 15 minutes, and allows the access at {name}.{' '}
              <a href={link.data.url} target="_blank" rel="noreferrer">
                Open it here
              </a>
            </p>
            <Code text={link.data.url} label="Link" />
            <p role="status">Waiting for the consent …</p>
          </>
        )
      )}
    </>
  )
}
