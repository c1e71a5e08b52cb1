/** Whether this is `npm run test:long`: every engine where one is enough otherwise, and many more random runs. */
export const THOROUGH = process.env.TEST_THOROUGH === '1'

/** How many runs of something random, or rows of something large, there are: `few` in every run, `many` in test:long. */
export const runs = (few: number, many: number): number => (THOROUGH ? many : few)
