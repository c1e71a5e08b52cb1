import { answered, api } from '../api/client.ts'
import { go, query } from '../router.ts'
import { Fields } from '../ui/act.tsx'
import { inviting } from '../ui/person.ts'
import { useTitle } from '../ui/title.ts'
import { Demo } from './demo.tsx'

/** What somebody can do who has just started the service. */
export function First() {
  return (
    <>
      <p>
        <strong>Nothing is stored yet.</strong> Three ways to begin:
      </p>
      <ul class="items">
        <li>
          <div>
            <strong>Look around</strong>
            <p>Three invented people, one year of data, in about half a minute; removed with one click.</p>
            <Demo />
          </div>
        </li>
        <li>
          <div>
            <strong>Your own phone</strong>
            <p>An app that knows Pulsebase sends what the phone’s health store and the watch hold.</p>
            <a class="act" href="/console/people/new?by=phone">
              Connect my phone
            </a>
          </div>
        </li>
        <li>
          <div>
            <strong>A program</strong>
            <p>A line to paste sends a first heart rate, with a key of its own.</p>
            <a class="act" href="/console/people/new?by=curl">
              Upload with curl
            </a>
          </div>
        </li>
      </ul>
    </>
  )
}

const FIELDS = [
  { name: 'first_name', label: 'First name', maxLength: 100 },
  { name: 'last_name', label: 'Last name', maxLength: 100 },
  { name: 'email', label: 'Email', type: 'email' },
  { name: 'external_user_id', label: 'Id in another system, such as a study', maxLength: 255 },
]

/** Creates a person, and goes on to how their data comes in: from a phone, or as the address says. */
export function NewPerson() {
  useTitle('New person')
  const create = async (values: Record<string, string>) => {
    const body = Object.fromEntries(Object.entries(values).filter(([, value]) => value))
    if (Object.keys(body).length === 0) throw new Error('Fill in one of them, to tell people apart.')
    const { id } = await answered(api.POST('/api/v1/users', { body }))
    inviting.value = query.value.get('by') === 'curl' ? 'curl' : 'phone'
    go(`/people/${id}/connections`, true)
  }
  return (
    <>
      <h1>New person</h1>
      <p>Whose data is it? One of these is enough; a first name will do.</p>
      <div class="card">
        <Fields fields={FIELDS} button="Create" submit={create} />
      </div>
    </>
  )
}
