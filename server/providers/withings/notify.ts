import { listAt, textAt, valueAt } from '../answers.ts'
import type { AccountSubscribed } from '../notices.ts'
import type { Answer, Form, Request } from '../provider.ts'

// Withings' subscriptions, each of one account and one category (`appli`); requests are made with the account's token.

const notify = (form: Form): Request => ({ path: '/notify', method: 'POST', form })

/** What an account is subscribed to by our application. */
export const listRequest = (): Request => notify({ action: 'list' })

/** The subscriptions that an answer lists. */
export const readProfiles = ({ json }: Answer): readonly AccountSubscribed[] =>
  listAt(json, 'body', 'profiles').flatMap((one) => {
    const [appli, url] = [valueAt(one, 'appli'), textAt(one, 'callbackurl')]
    return (Number.isSafeInteger(appli) || typeof appli === 'string') && url !== undefined
      ? [{ of: String(appli), url }]
      : []
  })

/** Subscribes; Withings asks at the address first. */
export const createRequest = ({ of: appli, url }: AccountSubscribed): Request =>
  notify({ action: 'subscribe', callbackurl: url, appli, comment: 'pulsebase' })

/** Ends a subscription. */
export const removeRequest = ({ of: appli, url }: AccountSubscribed): Request =>
  notify({ action: 'revoke', callbackurl: url, appli })
