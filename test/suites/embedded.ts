import '../db/embedded.test.ts'
import '../db/embedded-lock.test.ts'
