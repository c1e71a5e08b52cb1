import { useState } from 'preact/hooks'
import { Code } from './code.tsx'

/** How programs ask for an address, with the key in their environment. */
const LANGUAGES: Readonly<Record<string, (address: string) => string>> = {
  curl: (address) => `curl '${address}' \\\n  -H "X-Service-API-Key: $KEY" -H 'Accept: text/csv'`,
  Python: (address) => `import os
from urllib.request import Request, urlopen

headers = {"X-Service-API-Key": os.environ["KEY"], "Accept": "text/csv"}
with urlopen(Request("${address}", headers=headers)) as answer:
    print(answer.read().decode())`,
  JavaScript: (address) => `const headers = { 'X-Service-API-Key': process.env.KEY, Accept: 'text/csv' }
const answer = await fetch('${address}', { headers })
console.log(await answer.text())`,
}

interface CallProps {
  id: string
  types: readonly string[]
  /** Local epoch ms, with the offsets in minutes that hold there. */
  from: number
  until: number
  offsets: readonly [number, number]
  resolution: string
  /** Each source apart. */
  isApart?: boolean
}

/** The request that a program would make for the samples that are shown. */
export function Call({ id, types, from, until, offsets, resolution, isApart = false }: CallProps) {
  const [language, choose] = useState('curl')
  const at = (local: number, offset: number) => new Date(local - offset * 60_000).toISOString().replace('.000', '')
  const params = new URLSearchParams({
    types: types.join(','),
    start_time: at(from, offsets[0]),
    end_time: at(until, offsets[1]),
    resolution,
    filter_by_priority: String(!isApart),
    limit: '200000',
  })
  const address = `${location.origin}/api/v1/users/${id}/timeseries?${params}`.replaceAll("'", '%27')
  return (
    <details>
      <summary>As a call of the API</summary>
      <p class="buttons">
        {Object.keys(LANGUAGES).map((name) => (
          <button key={name} type="button" aria-pressed={name === language} onClick={() => choose(name)}>
            {name}
          </button>
        ))}
      </p>
      <Code label="the call" text={LANGUAGES[language]?.(address) ?? ''} />
    </details>
  )
}
