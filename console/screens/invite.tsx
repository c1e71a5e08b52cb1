import { useEffect, useState } from 'preact/hooks'
import { answered, api, type Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { readPerson } from '../api/reads.ts'
import { Do, Problem, useAct } from '../ui/act.tsx'
import { Code } from '../ui/code.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { qrOf } from '../ui/qr.ts'

const PACE_MS = 2000

interface InviteProps {
  user: Schemas['UserDetail']
  by: 'phone' | 'curl'
  onClose(): void
  /** Called when an upload is in that was not there before. */
  arrived(): void
}

/** How data of a person comes in, from a phone or with a line to paste; waits for the first of it. */
export function Invite({ user, by, onClose, arrived }: InviteProps) {
  const now = useQuery(
    `waits ${user.id}`,
    (signal) => readPerson(user.id, signal),
    () => PACE_MS,
  )
  const came = now.data !== undefined && now.data.last_synced_at !== user.last_synced_at
  useEffect(() => {
    if (came) arrived()
  }, [came])
  return (
    <Dialog title={by === 'phone' ? 'Connect a phone' : 'Upload with curl'} onClose={onClose}>
      {by === 'phone' ? <Invitation id={user.id} /> : <Line id={user.id} />}
      <p role="status">Waiting for an upload …</p>
      <Problem text={now.failure?.message} />
      <button type="button" onClick={onClose}>
        Close
      </button>
    </Dialog>
  )
}

/** Why a phone may not get here, and the setting that changes it. */
function reach(): string | undefined {
  if (/^(localhost|127\.|\[::1\])/.test(location.hostname))
    return 'No phone reaches this address, which is of this machine only: start the service with HOST=0.0.0.0 and open the console at the machine’s address in your network, such as http://192.168.1.5:8000.'
  if (location.protocol === 'http:')
    return 'This address has no TLS, so whoever is in the same network can read along: put a proxy with a certificate before the service and set API_BASE_URL to its https address.'
  return undefined
}

function Invitation({ id }: { id: string }) {
  const [code, setCode] = useState<string>()
  const { failure, act } = useAct()
  useEffect(() => {
    void act(async () => {
      const params = { path: { user_id: id } }
      setCode((await answered(api.POST('/api/v1/users/{user_id}/invitation-code', { params }))).code)
    })
  }, [])
  const problem = reach()
  return (
    <>
      <p>1. In the app, enter the address of this service:</p>
      <Code text={location.origin} label="Address" />
      {problem && <p class="warn">{problem}</p>}
      <p>2. Then this code, which lets one phone in, within 7 days:</p>
      {code && <Code text={code} label="Invitation code" />}
      {code && <Scanned text={`${location.origin}/#invitation=${code}`} />}
      <Problem text={failure} />
    </>
  )
}

/** Light around a code that readers need, in modules. */
const QUIET = 4

/** Both as a QR code, for apps that have a camera to read it with. */
function Scanned({ text }: { text: string }) {
  const modules = qrOf(text)
  if (!modules) return null
  const size = modules.length + 2 * QUIET
  const path = modules.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x + QUIET} ${y + QUIET}h1v1h-1z` : '')))
  return (
    <>
      <p>Or, if the app can, scan both at once:</p>
      <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img">
        <title>QR code of the address and the code</title>
        <path d={path.join('')} />
      </svg>
    </>
  )
}

/** One heart rate of this moment. */
function lineOf(id: string, key: string): string {
  const at = new Date().toISOString()
  const record = { type: 'HKQuantityTypeIdentifierHeartRate', startDate: at, endDate: at, value: 62, unit: 'bpm' }
  const data = { records: [{ ...record, source: { name: 'curl' } }] }
  const body = { provider: 'apple', sdkVersion: '0.15.0', syncTimestamp: at, data }
  return `curl -X POST ${location.origin}/api/v1/sdk/users/${id}/sync -H 'X-Service-API-Key: ${key}' -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`
}

function Line({ id }: { id: string }) {
  const [key, setKey] = useState<string>()
  const make = async () =>
    setKey((await answered(api.POST('/api/v1/developer/api-keys', { body: { name: 'curl' } }))).key)
  if (key === undefined) {
    return (
      <p class="buttons">
        <Do main work={make}>
          Make a key, and the line to paste
        </Do>
      </p>
    )
  }
  return (
    <>
      <p>Paste it into a terminal. It holds a new API key, named “curl”, which is shown only now.</p>
      <Code text={lineOf(id, key)} label="Line to paste" />
    </>
  )
}
