import type { Answer, Call, Request } from '../../server/providers/provider.ts'

/** A `call` that notes what was asked and answers in order. */
export function recorder(answers: readonly Answer[], tokenUrl: string): { call: Call; asked: Request[] } {
  const asked: Request[] = []
  const call = Object.assign(
    async (request: Request) => {
      asked.push(request)
      return answers[asked.length - 1]!
    },
    { settings: { clientId: 'id', clientSecret: 'secret', more: {} }, tokenUrl, nowSeconds: 0 },
  )
  return { call, asked }
}
