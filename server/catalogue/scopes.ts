/** How data comes (SyncScope of contract 2.2): historical, by an export of the past; live, as it is measured. */
export const scopes = ['historical', 'live'] as const

/** One of `scopes`. */
export type Scope = (typeof scopes)[number]
