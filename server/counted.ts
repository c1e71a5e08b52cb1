/** A count with its noun: `1 sample`, `2 samples`, `0 bodies`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
