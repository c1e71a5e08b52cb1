/** A request to an address of the application: status and text; null when no answer came in time. */
export async function fetchText(
  url: string,
  init: RequestInit,
  { seconds, closing }: { seconds: number; closing: AbortSignal },
): Promise<{ status: number; text: string } | null> {
  const signal = AbortSignal.any([closing, AbortSignal.timeout(seconds * 1000)])
  try {
    const answer = await fetch(url, { redirect: 'manual', ...init, signal })
    return { status: answer.status, text: await answer.text() }
  } catch {
    return null
  }
}
