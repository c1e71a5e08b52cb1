/** What tests can change about a running provider (POST /_control/settings). */
export interface Settings {
  /** Life of an access token and of a code. */
  access_seconds: number
  code_seconds: number
  /** How long a refresh token works after its successor was issued. */
  grace_seconds: number
  /** Status of a request for data whose scope was not granted. */
  missing_scope_status: number
  /** Redirect addresses registered for the application; null: any on this machine. Compared exactly. */
  redirect_uris: string[] | null
  /** How many people may connect until the provider has approved the application; null: approved. */
  member_limit: number | null
  /** Records per page unless the caller says otherwise. */
  page_size: number
  /** Replaces the requests of each limit, in the provider's order; null: as documented. */
  limits: number[] | null
  /** Retries of notices come after so many hundredths of the provider's pauses. */
  retry_percent: number
  /** Days until a subscription expires; 0: it does not. */
  subscription_days: number
  /** Switches and numbers that only this provider has. */
  own: Record<string, boolean | number>
}

const TYPES: Record<keyof Settings, (value: unknown) => boolean> = {
  access_seconds: isCount,
  code_seconds: isCount,
  grace_seconds: isCount,
  missing_scope_status: (value) => value === 401 || value === 403 || value === 412,
  redirect_uris: (value) => value === null || (Array.isArray(value) && value.every((uri) => URL.canParse(uri))),
  member_limit: (value) => value === null || isCount(value),
  page_size: (value) => isCount(value) && value !== 0,
  limits: (value) => value === null || (Array.isArray(value) && value.every(isCount)),
  retry_percent: isCount,
  subscription_days: isCount,
  own: (value) => typeof value === 'object' && value !== null,
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0
}

/**
 * Changes the settings that are named.
 * @throws Error naming what is unknown or of the wrong kind; nothing is changed then
 */
export function changeSettings(settings: Settings, changes: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(TYPES, name))
      throw new Error(`Unknown setting: ${name}. Known: ${Object.keys(TYPES).join(', ')}`)
    if (!TYPES[name as keyof Settings](value)) throw new Error(`Not a value of ${name}: ${JSON.stringify(value)}`)
  }
  const { own = {}, ...others } = changes as Partial<Settings>
  for (const [name, value] of Object.entries(own))
    if (typeof settings.own[name] !== typeof value || (typeof value === 'number' && !isCount(value)))
      throw new Error(`No switch of it: ${name}`)
  Object.assign(settings, others, { own: { ...settings.own, ...own } })
}
