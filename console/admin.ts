/** The screens about the service and its developers, which the browser loads as one file when one is wanted. */
export { Account } from './screens/account.tsx'
