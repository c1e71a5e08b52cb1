import type { Limit, Use } from './budgets.ts'
import type { Reply } from './http.ts'
import type { Notices } from './notices/notices.ts'
import type { OAuthRules } from './oauth/rules.ts'
import type { Settings } from './settings.ts'
import type { Cycle, Person } from './truth/person.ts'
import type { Rest, SleepView } from './truth/sleep.ts'
import type { WorkoutView } from './truth/workouts.ts'

/** A simulated provider: one folder, and its entry in providers.ts. */
export interface Provider {
  /** First segment of its paths, and its name in /_control. */
  readonly name: string
  readonly title: string
  readonly oauth: OAuthRules
  /** Where its API begins, below its own segment; '' when it begins there. */
  readonly apiPath: string
  readonly limits: readonly Limit[]
  readonly settings: Settings
  /** Which data a path asks for, such as `sleep`; undefined for paths that are no data. Faults refuse by it. */
  family(path: string): string | undefined
  /** What the log and faults call a request, where paths do not say what it is for; `form` is its body. */
  nameOf?(path: string, form: URLSearchParams): string
  /** Whether requests for tokens and subscriptions count for the limits, too. */
  readonly countsAll?: boolean
  /** Whether any Authorization will do for a path: the first person's data is shown. */
  isOpen?(path: string): boolean
  /** Answers a request to the API. */
  answer(call: ApiCall): Reply
  /** Headers of every answer that was counted. */
  budgetHeaders?(budgets: readonly Budget[]): Record<string, string>
  /** `refused` is the limit that is used up. */
  tooMany(refused: Budget, nowMs: number): Reply
  unauthorized(): Reply
  /** Refusal of data whose scope was not granted. */
  missingScope?(path: string): Reply
  /** Names that an answer may have for its list of records; some answers are a list themselves. */
  readonly records: readonly string[]
  /** How it tells what became known. */
  readonly notices?: Notices
  /** Further variables that a service needs. */
  readonly variables?: Readonly<Record<string, string>>
  /** Those that are no secrets, such as more requests than a service would make of its own accord. */
  readonly options?: () => Readonly<Record<string, string>>
  /** Id of a person's account. */
  accountOf(person: Person): string
  /** The ids of its records; null for those it leaves out. */
  ids(person: Person): Ids
}

/** What a provider calls the records of the truth. */
export interface Ids {
  sleep(view: SleepView): string | null
  rest(rest: Rest): string | null
  workout(view: WorkoutView): string | null
  cycle(cycle: Cycle): string | null
}

/** A limit and how far it is used. */
export interface Budget extends Use {
  readonly limit: Limit
}

/** A request to a provider's API with a valid token. */
export interface ApiCall {
  readonly method: string
  /** Below the API's path, such as `/v2/usercollection/sleep`. */
  readonly path: string
  readonly query: URLSearchParams
  readonly person: Person
  readonly scopes: ReadonlySet<string>
  header(name: string): string
  /** Whether somebody has subscribed to notices of a topic. */
  hears(topic: string): boolean
  /** Whether the consent was given to a simulator before this one. */
  readonly inherited: boolean
  readonly text: string
  /** The body, where it is a form. */
  readonly form: URLSearchParams
  /** Where the API is, without a slash at its end. */
  readonly address: string
  readonly settings: Settings
  /** The provider's clock. */
  readonly nowMs: number
  /** What to do with the next page (faults). */
  readonly nextPage: 'normal' | 'itself' | 'elsewhere'
  /** Ends the person's consent for good. */
  leave(): void
}
