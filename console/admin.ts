/** The screens about the service and its developers, which the browser loads as one file when one is wanted. */
import './shared.ts'

export { Access } from './screens/access.tsx'
export { Account } from './screens/account.tsx'
export { AllUploads } from './screens/all-uploads.tsx'
export { Demo } from './screens/demo.tsx'
export { First, NewPerson } from './screens/first.tsx'
