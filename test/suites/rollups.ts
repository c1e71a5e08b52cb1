import '../rollups/apache.test.ts'
import '../rollups/exact.test.ts'
import '../rollups/merged-days.test.ts'
import '../rollups/strategy.test.ts'
