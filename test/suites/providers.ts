import '../providers/golden.test.ts'
import '../providers/streams.test.ts'
