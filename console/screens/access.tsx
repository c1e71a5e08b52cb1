import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { answered, api } from '../api/client.ts'
import { type Query, useQuery } from '../api/query.ts'
import { Confirm, Fields, Opener } from '../ui/act.tsx'
import { Secret } from '../ui/code.tsx'
import { Shown } from '../ui/states.tsx'
import { useTitle } from '../ui/title.ts'
import { When } from '../ui/when.tsx'

const MOST = 100

/** What a secret is called, and the secret. */
type Secrets = Record<string, string>

interface Entry {
  id: string
  name: string
  about: ComponentChildren
  rename?: (name: string) => Promise<unknown>
  rotate(): Promise<Secrets>
  remove(): Promise<unknown>
}

interface CredentialsProps {
  title: string
  /** One of them, in a sentence. */
  noun: string
  /** What they are for. */
  children: ComponentChildren
  query: Query<Entry[]>
  create(name: string): Promise<Secrets>
  /** What the deletion of one ends. */
  ends: string
}

/** Who may use the service: the keys of programs, and the applications that let phones in. */
export function Access() {
  useTitle('Access')
  return (
    <>
      <h1>Access</h1>
      <ApiKeys />
      <Applications />
    </>
  )
}

function ApiKeys() {
  const query = useQuery('keys', async (signal) =>
    (await answered(api.GET('/api/v1/developer/api-keys', { signal }))).map(({ id, name, key_prefix, ...key }) => {
      const params = { path: { key_id: id } }
      return {
        ...{ id, name },
        about: (
          <>
            <code>{key_prefix}…</code> last used: <When at={key.last_used_at} />
          </>
        ),
        rename: (name: string) =>
          answered(api.PATCH('/api/v1/developer/api-keys/{key_id}', { params, body: { name } })),
        rotate: async () => ({
          Key: (await answered(api.POST('/api/v1/developer/api-keys/{key_id}/rotate', { params }))).key,
        }),
        remove: () => answered(api.DELETE('/api/v1/developer/api-keys/{key_id}', { params })),
      }
    }),
  )
  const create = async (name: string) => ({
    Key: (await answered(api.POST('/api/v1/developer/api-keys', { body: { name } }))).key,
  })
  return (
    <Credentials
      title="API keys"
      noun="key"
      query={query}
      create={create}
      ends="Programs that use it are refused at once."
    >
      A program on a server of yours reads and writes everybody’s data with a key. Never put one into an app.
    </Credentials>
  )
}

function Applications() {
  const both = ({ app_id, app_secret }: { app_id: string; app_secret: string }) => ({
    'Application id': app_id,
    Secret: app_secret,
    'Your app’s backend asks for the token of a phone': `curl -X POST ${location.origin}/api/v1/users/$USER_ID/token -H 'Content-Type: application/json' -d '${JSON.stringify({ app_id, app_secret })}'`,
  })
  const query = useQuery('applications', async (signal) =>
    (await answered(api.GET('/api/v1/applications', { signal }))).map(({ app_id, name, created_at }) => {
      const params = { path: { app_id } }
      return {
        ...{ id: app_id, name },
        about: (
          <>
            <code>{app_id}</code> made <When at={created_at} />
          </>
        ),
        rotate: async () => both(await answered(api.POST('/api/v1/applications/{app_id}/rotate-secret', { params }))),
        remove: () => answered(api.DELETE('/api/v1/applications/{app_id}', { params })),
      }
    }),
  )
  const create = async (name: string) => both(await answered(api.POST('/api/v1/applications', { body: { name } })))
  return (
    <Credentials
      title="Applications"
      noun="application"
      query={query}
      create={create}
      ends="Every phone that it let in is signed out."
    >
      The backend of an app lets the phones of its users in with the secret of an application.
    </Credentials>
  )
}

const NAME = { name: 'name', label: 'Name', required: true, maxLength: MOST }

function Credentials({ title, noun, children, query, create, ends }: CredentialsProps) {
  const [secrets, show] = useState<Secrets>()
  const changed = (made?: Secrets) => {
    if (made) show(made)
    query.again()
  }
  return (
    <section>
      <h2>{title}</h2>
      <p>{children}</p>
      <Shown query={query} what={title}>
        {(entries) => (
          <ul class="items">
            {entries.map((entry) => (
              <Row key={entry.id} entry={entry} noun={noun} ends={ends} changed={changed} />
            ))}
            {entries.length === 0 && <li class="quiet">There is none.</li>}
          </ul>
        )}
      </Shown>
      <Opener button={`New ${noun}`} title={`New ${noun}`}>
        {(close) => (
          <Fields
            button="Create"
            fields={[NAME]}
            submit={async ({ name = '' }) => {
              changed(await create(name))
              close()
            }}
          />
        )}
      </Opener>
      {secrets && <Secret title={`The ${noun}`} texts={secrets} onClose={() => show(undefined)} />}
    </section>
  )
}

interface RowProps extends Pick<CredentialsProps, 'noun' | 'ends'> {
  entry: Entry
  changed(made?: Secrets): void
}

function Row({ entry: { name, about, rename, rotate, remove }, noun, ends, changed }: RowProps) {
  const shown = <strong dir="auto">{name}</strong>
  return (
    <li>
      <div>
        {shown}
        <div class="quiet">{about}</div>
      </div>
      <div class="buttons">
        {rename && (
          <Opener button="Rename" title={`Rename the ${noun}`}>
            {(close) => (
              <Fields
                button="Save"
                fields={[{ ...NAME, value: name }]}
                submit={async (values) => {
                  await rename(values.name ?? '')
                  changed()
                  close()
                }}
              />
            )}
          </Opener>
        )}
        <Confirm button="New secret" title={`A new secret for the ${noun}`} work={async () => changed(await rotate())}>
          <p>The present secret of {shown} stops working at once.</p>
        </Confirm>
        <Confirm button="Delete" title={`Delete the ${noun}`} work={async () => changed(void (await remove()))}>
          <p>
            {shown} goes for good. {ends}
          </p>
        </Confirm>
      </div>
    </li>
  )
}
