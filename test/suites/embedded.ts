import '../api/sdk-hostile.test.ts'
import '../db/embedded-lock.test.ts'
import '../db/embedded.test.ts'
