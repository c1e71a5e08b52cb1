import { answerChallenge } from './answer-challenge.ts'
import { receiveNotice } from './receive-notice.ts'

export const inboundRoutes = [receiveNotice, answerChallenge]
