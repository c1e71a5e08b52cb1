import { json, type Reply } from '../http.ts'
import { numberOf } from '../random.ts'

/** An error of the API. */
export function fault(status: number, errorType: string, message: string): Reply {
  return json(status, { timestamp: new Date().toISOString(), status, errorType, message, corrId: idOf(message) })
}

/** An error about webhooks, which look otherwise. */
export function webhookFault(status: number, error_type: string, message: string): Reply {
  const error = { timestamp: new Date().toISOString(), status, error_type, message, corr_id: idOf(message) }
  return json(status, { error })
}

function idOf(message: string): string {
  return numberOf(message).toString(16)
}
