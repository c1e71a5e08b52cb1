import '../api/coverage.test.ts'
import '../api/found-by-review.test.ts'
import '../api/implausible.test.ts'
import '../api/old-samples.test.ts'
