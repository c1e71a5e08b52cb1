import { escaped, page, type Reply } from '../http.ts'
import type { Person } from '../truth/person.ts'

interface Question {
  readonly title: string
  readonly action: string
  readonly people: readonly Person[]
  /** What the application asks for, with what is read by it. */
  readonly scopes: readonly { readonly scope: string; readonly reads: string; readonly ticked: boolean }[]
  readonly query: URLSearchParams
}

/** Where the person says who they are and what the application may read; every field of the request comes back. */
export function consentPage({ title, action, people, scopes, query }: Question): Reply {
  const kept = [...query].map(
    ([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
  )
  const persons = people.map(({ key, firstName, lastName, homeZone }) => {
    const text = `${firstName} ${lastName} (${homeZone})`
    return `<option value="${escaped(key)}">${escaped(text)}</option>`
  })
  const boxes = scopes.map(
    ({ scope, reads, ticked }) =>
      `<label><input type="checkbox" name="granted" value="${escaped(scope)}"${ticked ? ' checked' : ''}> ${escaped(reads)} <code>${escaped(scope)}</code></label>`,
  )
  return page(
    200,
    `${title} (simulated)`,
    `<p>An application wants to read data of your ${escaped(title)} account. These people and their data are made up.</p>
<form method="post" action="${escaped(action)}">
${kept.join('\n')}
<label>I am <select name="person">${persons.join('')}</select></label>
<fieldset><legend>It may read</legend>${boxes.join('\n') || 'nothing'}</fieldset>
<button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button>
</form>`,
  )
}
