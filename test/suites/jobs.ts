import '../jobs.test.ts'
import '../migrate.test.ts'
