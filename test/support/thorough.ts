/** Whether this is `npm run test:long`: both engines where one is usually enough, and many more random runs. */
export const THOROUGH = process.env.TEST_THOROUGH === '1'

/** The number of random runs, or of rows of something large: `few` in every run, `many` in test:long. */
export const runs = (few: number, many: number): number => (THOROUGH ? many : few)

/** Skips a test of a fault, a load or a whole journey in every run but `npm run test:long`; smaller tests stay. */
export const inTestLong: { skip: string | false } = { skip: !THOROUGH && 'only in npm run test:long' }
