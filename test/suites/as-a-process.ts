import '../http/contention.test.ts'
import '../webhooks/crash.test.ts'
import '../webhooks/faults.test.ts'
