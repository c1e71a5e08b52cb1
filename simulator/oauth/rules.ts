import type { Reply } from '../http.ts'
import type { Settings } from '../settings.ts'
import type { Person } from '../truth/person.ts'
import type { Client } from './client.ts'

/** How a provider grants access; paths are below the provider's segment. */
export interface OAuthRules {
  readonly authorizePath: string
  /** A further address of the same page, for phones. */
  readonly mobilePath?: string
  readonly tokenPath: string
  /** Answers a request that is not what its path says, before everything else. */
  instead?(path: string, request: OAuthRequest): Reply | undefined
  /** Whether a further path is a token address. */
  alsoToken?(path: string, settings: Settings): boolean
  /** Between scopes, asked for and granted. */
  readonly separator: ' ' | ','
  /** Scopes that people can untick, with what is read by them. */
  readonly scopes: Readonly<Record<string, string>>
  /** What scopes begin with at this provider, asked for and granted; others are passed over without an error. */
  readonly scopePrefix: string
  /** Whether a request for an unknown scope is refused; otherwise the scope is passed over. */
  readonly refusesUnknownScopes: boolean
  /** Whether asking for no scope asks for all. */
  readonly blankMeansAll: boolean
  /** Whether applications cannot ask for scopes: they get what people tick of all there are. */
  readonly offersAll?: boolean
  /** Scopes that people have to tick themselves on the page. */
  readonly unticked?: readonly string[]
  /** Whether a request has to have a code_challenge. */
  readonly wantsChallenge?: boolean
  readonly minStateLength: number
  /** Where clients put their id and secret: into the form, into a header (HTTP Basic), or wherever they like. */
  readonly client: 'form' | 'basic' | 'both'
  /** Whether an exchange has to repeat the redirect address. */
  readonly repeatsRedirect: boolean
  /** Whether there are refresh tokens: always, never, or for who was granted the scope of that name. */
  readonly refresh: { readonly scope: string } | boolean
  /** Whether only who asks with `access_type=offline` and `prompt=consent` gets a refresh token. */
  readonly refreshWantsOffline?: boolean
  /** Life of a refresh token; ten years where nothing is said. */
  readonly refreshSeconds?: number
  /** Whether a refresh token is good for many refreshes, which bring no other one. */
  readonly keepsRefresh?: boolean
  /** What access tokens say, where they are JWTs. */
  claims?(person: Person): Record<string, unknown>
  /** A refresh answers the access token that there is, as long as it is good for more than so many seconds. */
  readonly keepsAccessSeconds?: number
  /** Whether a new consent of a person ends the tokens of the one before. */
  readonly onePair?: boolean
  /** Whether the refresh token before is over once an access token of its successor is used. */
  readonly graceEndsOnUse?: boolean
  /** Whether access tokens end when their refresh token is used. */
  readonly accessEndsOnRefresh: boolean
  /** Whether the callback names the granted scopes. */
  readonly callbackScope: boolean
  /** `error` of the callback when the application has too many members; null: the exchange is refused, 403. */
  readonly memberLimitError: string | null
  /** Error of the token endpoint for a refresh token that was used before. */
  readonly reusedRefreshError: string
  /** The answer of the token endpoint, where it is not that of RFC 6749. */
  shape?(given: Given, settings: Settings): Record<string, unknown>
  /** What the token endpoint refuses with, where it is not that of RFC 6749. */
  refused?(refusal: Refusal): Reply
  /** Further addresses, such as revocation. */
  other(path: string, request: OAuthRequest): Reply | undefined
}

/** Tokens as they are answered to a client. */
export interface Given {
  readonly access: string
  /** Undefined where there is none. */
  readonly refresh: string | undefined
  readonly scope: string
  readonly expiresInSeconds: number
  readonly nowMs: number
  /** Whose they are. */
  readonly person: Person
  /** Whether they were given for a code. */
  readonly first: boolean
}

/** Why the token endpoint refuses. */
export interface Refusal {
  readonly error: string
  readonly description: string
  readonly status?: number
}

/** A request to an address of OAuth that a provider has for itself. */
export interface OAuthRequest {
  readonly method: string
  readonly query: URLSearchParams
  readonly form: URLSearchParams
  /** Where the right id and secret of the client are; null: nowhere. */
  readonly client: 'form' | 'basic' | null
  /** The token of its Authorization; '' without one. */
  readonly bearer: string
  readonly settings: Settings
  /** The application. */
  readonly application: Client
  /** The provider's clock for tokens. */
  readonly nowMs: number
  /** Address of the provider, without a slash at its end. */
  readonly address: string
  /** Ends the grant to which a token belongs; answers whether there is one. */
  end(token: string): boolean
  /** Ends all consents of the person with an account; answers whether there were any. */
  endAccount(account: string): boolean
  /** Puts a token on the list of all secrets. */
  remember(token: string): void
  /** Makes a code worthless. */
  spend(code: string): void
}
