import type { Context } from 'koa'
import { providerByName } from '../../catalogue/providers.ts'
import type { AppError } from '../../errors.ts'
import type { Page } from '../../http/page.ts'

const ELSEWHERE = 'Nothing was connected. Go back to the app, or to whoever sent you here, and begin again there.'
const TELL = 'Nothing was connected. Please tell whoever sent you here; they can mend this, you cannot.'
const LATER = 'Nothing was connected. Please try again in a few minutes, from the app or the link where you began.'

/** Title and paragraphs for the codes of server/errors.ts; `name` is that of the provider. */
const TEXTS: Readonly<Record<string, (name: string) => readonly [title: string, ...paragraphs: string[]]>> = {
  bad_link: () => [
    'This link does not work',
    'It is incomplete or altered. Copy the whole link, or ask whoever sent it to you for a new one.',
  ],
  link_expired: () => [
    'This link has expired',
    'A link works for 15 minutes. Nothing was connected with it. Ask whoever sent it to you for a new one.',
  ],
  link_used: (name) => [
    'This link was already used',
    `A link works once. If you have seen that ${name} is connected, there is nothing left to do.`,
    'Otherwise ask whoever sent it to you for a new one.',
  ],
  bad_state: (name) => [
    'This sign-in is over',
    `It took more than 15 minutes, or this page was opened again. If you have seen that ${name} is connected, there is nothing left to do.`,
    'Otherwise go back to the app, or to whoever sent you here, and begin again there.',
  ],
  other_browser: () => [
    'This is another browser',
    'You began in one browser and ended in another, or your browser keeps no cookies. Nothing was connected.',
    'Ask for a new link, open it, and stay in the browser that opens it.',
  ],
  wrong_state: () => ['This sign-in belongs to another provider', ELSEWHERE],
  exchange_refused: (name) => [
    `${name} did not complete the sign-in`,
    'Nothing was connected. Begin again in the app or with a new link.',
    `If it fails again, tell whoever sent you here that ${name} refused the sign-in: their settings for ${name} may be wrong.`,
  ],
  exchange_failed: (name) => [`${name} cannot be reached`, LATER],
  no_oauth: (name) => [`${name} cannot be connected here`, 'Its data comes from an app on the phone.', TELL],
  not_configured: (name) => [`${name} cannot be connected here`, `This service is not set up for ${name}.`, TELL],
  provider_disabled: (name) => [`${name} cannot be connected now`, `This service has switched ${name} off.`, TELL],
  not_found: () => ['This account no longer exists', 'The account that was to be connected has been deleted.', TELL],
  no_credential: () => ['This address is incomplete', 'To connect a provider, open the whole link that you got.', TELL],
  overloaded: () => ['There is too much to do right now', LATER],
  internal: () => ['Something went wrong here', LATER],
}

/** What a person reads when connecting a provider fails, and can do then. */
export function failurePage({ code, status }: AppError, ctx: Context): Page {
  const name = providerByName.get(ctx.params.provider)?.name ?? 'the provider'
  const texts = TEXTS[code] ?? (status >= 500 ? TEXTS.internal : undefined)
  const [title, ...paragraphs] = texts?.(name) ?? ['This address does not work', TELL]
  return { title, paragraphs }
}
