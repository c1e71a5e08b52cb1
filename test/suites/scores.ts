import '../scores/compute-resilience.test.ts'
import '../scores/compute-sleep.test.ts'
import '../scores/resilience.test.ts'
import '../scores/sleep-score.test.ts'
