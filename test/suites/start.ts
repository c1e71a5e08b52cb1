import '../cluster.test.ts'
import '../start.test.ts'
import '../webhooks/listen.test.ts'
import '../webhooks/restart.test.ts'
