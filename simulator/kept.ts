/** What is kept under a key; made when it is not there yet. */
export function kept<Key, Value>(made: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = made.get(key)
  if (found !== undefined) return found
  const value = make()
  made.set(key, value)
  return value
}
