/** The name of an event for receivers and the API: `msg_` and the digits of its uuid. */
export const messageId = (uid: string): string => `msg_${uid.replaceAll('-', '')}`

/** The uuid of an event by the id that receivers know; undefined for any other text. */
export function messageUid(id: string): string | undefined {
  const [, a, b, c, d, e] = /^msg_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(id) ?? []
  return a && `${a}-${b}-${c}-${d}-${e}`
}
