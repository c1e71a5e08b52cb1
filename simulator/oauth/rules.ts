import type { Reply } from '../http.ts'
import type { Settings } from '../settings.ts'

/** How a provider grants access; paths are below the provider's segment. */
export interface OAuthRules {
  readonly authorizePath: string
  readonly tokenPath: string
  /** Whether a further path is a token address. */
  alsoToken?(path: string, settings: Settings): boolean
  /** Scopes that people can untick, with what is read by them. */
  readonly scopes: Readonly<Record<string, string>>
  /** What scopes begin with at this provider, asked for and granted; others are passed over without an error. */
  readonly scopePrefix: string
  /** Whether a request for an unknown scope is refused; otherwise the scope is passed over. */
  readonly refusesUnknownScopes: boolean
  /** Whether asking for no scope asks for all. */
  readonly blankMeansAll: boolean
  readonly minStateLength: number
  /** Whether clients may also identify themselves by HTTP Basic. */
  readonly basic: boolean
  /** The scope without which there is no refresh token; null: there always is one. */
  readonly offlineScope: string | null
  /** Whether access tokens end when their refresh token is used. */
  readonly accessEndsOnRefresh: boolean
  /** Whether the callback names the granted scopes. */
  readonly callbackScope: boolean
  /** `error` of the callback when the application has too many members. */
  readonly memberLimitError: string
  /** Error of the token endpoint for a refresh token that was used before. */
  readonly reusedRefreshError: string
  /** Further addresses, such as revocation. */
  other(path: string, request: OAuthRequest): Reply | undefined
}

/** A request to an address of OAuth that a provider has for itself. */
export interface OAuthRequest {
  readonly method: string
  readonly query: URLSearchParams
  readonly form: URLSearchParams
  /** Whether the client's id and secret are right. */
  readonly clientIsKnown: boolean
  readonly settings: Settings
  /** Address of the provider, without a slash at its end. */
  readonly address: string
  /** Ends the grant to which a token belongs, if there is one. */
  end(token: string): void
  /** Makes a code worthless. */
  spend(code: string): void
}
