import '../api/sync.test.ts'
import '../api/sync-stream.test.ts'
